// The output as text, each token underlined by who drew it.

const ribbonToken = (cell, text, name) => {
  const node = make('span', `sv-out sv-${cell.state}`, text);
  node.dataset.step = cell.step;
  node.dataset.position = cell.position;
  node.dataset.state = cell.state;
  node.title = `${name}: ${stateOf(cell).word}, step ${cell.step}`;
  return node;
};

const isEnd = (trace, cell) => trace.settings.end_ids.includes(cell.id);

const drawRibbon = (place, trace) => {
  const cells = outputCells(trace).filter((cell) => !isEnd(trace, cell));
  const texts = readable(cells.map((cell) => trace.tokens[cell.id] ?? nameOf(trace.tokens, cell.id)));
  const prompt = make('span', 'sv-prompt', trace.prompt.text);
  prompt.title = 'the prompt';
  place.replaceChildren(prompt, ' ', ...cells.map((cell, i) => ribbonToken(cell, texts[i], nameOf(trace.tokens, cell.id))));
};
