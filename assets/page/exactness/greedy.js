// The check at temperature 0: two texts token by token, and the two logits where they part.

import { count } from '../../player/run/numbers.js';
import { visible } from '../../player/run/tokens.js';
import { make } from '../../player/draw/dom.js';

const place = element.querySelector('.svx-greedy');

const token = (text, kind) => {
  const node = make('bdi', `sv-token svx-tok svx-${kind}`, visible(text));
  node.dir = 'ltr';
  return node;
};

// The same as far as they are the same; from the first difference on they are different texts.
const textLine = (title, texts, parted) => {
  const until = parted ?? texts.length;
  return make('div', 'svx-text',
    make('span', 'svx-soft', title),
    make('p', '',
      ...texts.slice(0, until).map((text) => token(text, 'same')),
      ...texts.slice(until, until + 1).map((text) => token(text, 'parted')),
      ...texts.slice(until + 1).map((text) => token(text, 'after')),
    ),
  );
};

const logitsLine = (rows, pair) =>
  make('tr', '',
    make('td', '', rows),
    ...pair.map((logit) => make('td', logit === Math.max(...pair) ? 'svx-best' : '', String(Number(logit.toPrecision(7))))),
  );

const contestParts = ({ contest, ours, plain, dtype }) => {
  const { index, rows, one_row: one, many_rows: many, allowed, near_tie: near } = contest;
  const table = make('table', 'svx-logits',
    make('tr', '',
      make('th', '', 'the target’s logits of'),
      make('th', '', token(ours[index], 'parted')),
      make('th', '', token(plain[index], 'parted')),
    ),
    logitsLine(`in the step’s pass over ${count(rows, 'row', 'rows')}`, many),
    logitsLine('in the plain loop’s pass over one row', one),
  );
  const verdict = near
    ? make('p', '',
        make('b', '', 'A near-tie, not an error. '),
        `The two logits are within ${Number(allowed.toPrecision(3))}, two units in the last place of ${dtype}: `,
        `a pass over ${rows} rows rounds differently than one over a single row, and the two tokens changed places. `,
        'From there on the texts go their own ways.',
      )
    : make('p', 'svx-off',
        make('b', '', 'This should not happen: '),
        'the two logits are too far apart for rounding to explain it. Please report it.',
      );
  return [table, verdict];
};

const resultParts = (found) => {
  const parted = found.contest?.index ?? null;
  const head = found.equal
    ? `The same ${found.ours.length} tokens, every one.`
    : `The same for ${count(parted, 'token', 'tokens')}, then they part.`;
  return [
    make('p', 'svx-big', head),
    make('p', 'svx-soft', `${found.pair}, draft ${found.draft}, K ${found.k}, temperature 0, ${found.dtype}`),
    textLine('with the draft', found.ours, parted), textLine('the target alone', found.plain, parted),
    ...(found.contest ? contestParts(found) : []),
  ];
};

const show = () => {
  const found = props.value ? JSON.parse(props.value) : null;
  if (!found) return;
  if (found.busy) place.replaceChildren(make('p', '', found.busy));
  else if (found.problem) place.replaceChildren(make('p', 'svx-off', found.problem));
  else place.replaceChildren(...resultParts(found));
};

watch('value', show);
show();
