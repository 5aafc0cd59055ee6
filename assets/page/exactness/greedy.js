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

const isHalf = (dtype) => dtype === 'bfloat16' || dtype === 'float16';

const contestParts = ({ contest, ours, plain, dtype }) => {
  const { index, rows, one_row: one, many_rows: many, allowed, near_tie: near } = contest;
  const why = isHalf(dtype) ? `two units in the last place of ${dtype}` : `what rounding can do in ${dtype}`;
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
        make('b', '', 'Not an error. '),
        `The two logits are within ${Number(allowed.toPrecision(3))}, ${why}: `,
        `a pass over ${rows} rows rounds differently than one over a single row, and the two tokens changed places. `,
        'From there on the texts go their own ways.',
      )
    : make('p', 'svx-off',
        make('b', '', 'This should not happen: '),
        'the two logits are too far apart for rounding to explain it. Please report it.',
      );
  return [table, verdict];
};

// How far the texts agree, and in the same breath why no farther.
const headline = ({ contest, equal, ours, plain }) => {
  if (equal) return `The same ${count(ours.length, 'token', 'tokens')}, every one.`;
  if (!contest) return `The same for ${count(Math.min(ours.length, plain.length), 'token', 'tokens')}, where one of them ends.`;
  const same = `The same for ${count(contest.index, 'token', 'tokens')}`;
  return contest.near_tie ? `${same}, then a near-tie.` : `${same}, then they part.`;
};

const button = (text, sends) => {
  const node = make('button', 'svx-again', text);
  node.type = 'button';
  node.addEventListener('click', () => trigger('again', sends));
  return node;
};

// The same weights in float32, where half precision is what parted the texts.
const againParts = ({ contest, dtype, asked }) => (contest?.near_tie && isHalf(dtype)
  ? [button('Compare again in float32', { float32: true, asked })] : []);

// Why it is not the prompt on screen, and the way to compare that one.
const steadyParts = ({ steady }) => (steady
  ? [make('p', 'svx-soft',
      `This prompt is that of the recorded run “${steady}”: at each of its tokens one logit is clearly the largest. `
      + 'In the opening lesson’s own text two are all but equal somewhere, and half precision may decide that either way. ',
      button('Compare the opening lesson’s', {}))]
  : []);

const resultParts = (found) => {
  const parted = found.contest?.index ?? null;
  return [
    make('p', 'svx-big', headline(found)),
    make('p', 'svx-soft', `${found.pair}, draft ${found.draft}, K ${found.k}, temperature 0, ${found.dtype}`),
    make('p', 'svx-soft', `the prompt: ${found.asked.prompt}`),
    textLine('with the draft', found.ours, parted), textLine('the target alone', found.plain, parted),
    ...(found.contest ? contestParts(found) : []), ...againParts(found), ...steadyParts(found),
  ];
};

const busyParts = ({ busy, share }) => {
  if (share === undefined) return [make('p', '', busy)];
  const bar = make('div', 'svx-share', make('i'));
  bar.firstElementChild.style.width = `${100 * share}%`;
  return [make('p', '', busy), bar];
};

const show = () => {
  const found = props.value ? JSON.parse(props.value) : null;
  if (!found) return;
  if (found.busy) place.replaceChildren(...busyParts(found));
  else if (found.problem) place.replaceChildren(make('p', 'svx-off', found.problem));
  else place.replaceChildren(...resultParts(found));
};

watch('value', show);
show();
