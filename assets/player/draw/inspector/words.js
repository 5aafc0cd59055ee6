// What happened to one cell, a plain sentence a beat, and the rule with this cell's numbers in it.

import { chanceOf, coinName, coinTexts } from '../../run/cells.js';
import { apart, comingOut, count, number, percentOf } from '../../run/numbers.js';
import { make, tokenNode } from '../dom.js';
import { termOf } from './ruler.js';

/** @import { Scene } from '../../run/types.js' */

export const qWord = (text) => make('b', 'sv-q', text);

export const pWord = (text) => make('b', 'sv-p', text);

export const strong = (text) => make('b', '', text);

/** @type {(...parts: (Node | string)[]) => HTMLElement} */
export const say = (...parts) => make('p', 'svi-say', ...parts);

const inkOf = (scene, id) => tokenNode(scene.trace.tokens, id);

const formulaTerm = (node, term) => {
  node.tabIndex = 0;
  return termOf(node, term);
};

const formulaLine = (...parts) => make('p', 'svi-formula', ...parts);

// p and q with enough digits to see which is the larger.
const pqOf = ({ p, q }) => (number(p) === number(q) && p !== q ? apart(p, q) : [number(p), number(q)]);

const DRAFT_SAYS = {
  lookup: (scene) =>
    say(
      'Prompt lookup found ', inkOf(scene, scene.cell.id),
      ' after the same words earlier on: that is all it can say, so ', qWord('q'), ' is ', qWord('1'), '.',
    ),
  noise: (scene) =>
    say('Noise proposes ', inkOf(scene, scene.cell.id), ': every token has the same ', qWord(`q ${number(scene.cell.q)}`), '.'),
};

const draftWords = (scene) => {
  const { cell, trace } = scene;
  const special = DRAFT_SAYS[trace.settings.draft.kind];
  if (special) return special(scene);
  if (scene.greedy)
    return say(
      'The draft’s favourite here is ', inkOf(scene, cell.id), ': at temperature 0 it proposes nothing else, so ',
      qWord('q'), ' is ', qWord('1'), '.',
    );
  return say('The draft drew ', inkOf(scene, cell.id), ', to which it gives ', qWord(number(cell.q)), '.');
};

// A target that drafts for itself: the same model, and yet a guess of its own can be rejected.
const selfWords = ({ trace, cell, step }) => (trace.settings.draft.kind === 'self' && cell.p !== cell.q
  ? ` One model, yet not quite one law: a pass over ${count(step.k + 1, 'row', 'rows')} rounds differently than one over one row.` : '');

const verifyWords = (scene) => {
  const [p, q] = pqOf(scene.cell);
  if (scene.cell.p === null) return say('The target has read every draft in one pass. The file keeps no p of those that are not used.');
  return say(
    'The target has read every draft in one pass. It gives ', inkOf(scene, scene.cell.id), ' ', pWord(p),
    ', the draft gave it ', qWord(q), '.', selfWords(scene),
  );
};

const thresholdWords = (scene) => {
  const { cell } = scene;
  const chance = chanceOf(cell);
  if (scene.greedy)
    return say(
      inkOf(scene, cell.id),
      chance === 1
        ? ' is the target’s favourite too: it survives, no coin is needed.'
        : ' is not the target’s favourite: it can’t survive, no coin is needed.',
    );
  if (chance >= 1)
    return say(inkOf(scene, cell.id), ' survives whatever the coin says: the target likes it at least as much as the draft.');
  if (chance === 0) return say(inkOf(scene, cell.id), ' can’t survive: the target gives it nothing.');
  return say(
    inkOf(scene, cell.id), ' survives ', strong(percentOf(chance)),
    ' of all coins: the target gives it less than the draft, ', pWord(pqOf(cell)[0]), ' of ', qWord(pqOf(cell)[1]),
    '.',
  );
};

const coinWords = (scene) => {
  const { cell } = scene;
  const verdict = strong(cell.state === 'accepted' ? 'kept' : 'rejected');
  if (scene.greedy)
    return say(
      inkOf(scene, cell.id),
      cell.state === 'accepted' ? ' is the target’s favourite too: ' : ' is not the target’s favourite: ', verdict,
      '. No coin is needed at temperature 0.', selfWords(scene),
    );
  const [coin, bound] = coinTexts(cell);
  const said = `The ${coinName(cell)} said `;
  if (chanceOf(cell) >= 1)
    return say(
      said, strong(coin), ' and did not matter: the target likes ', inkOf(scene, cell.id),
      ' at least as much, so it is ', verdict, '.',
    );
  if (chanceOf(cell) === 0)
    return say(said, strong(coin), ' and did not matter: the target gives ', inkOf(scene, cell.id), ' nothing, so it is ', verdict, '.');
  return say(
    said, strong(coin), cell.state === 'accepted' ? ', below ' : ', not below ', strong(bound), ': ',
    inkOf(scene, cell.id), ' is ', verdict, '.', cell.state === 'rejected' ? selfWords(scene) : '',
  );
};

const owedWords = (scene) => {
  if (scene.final.fallback)
    return say(
      'Draft and target agree here to the last digit: nothing is owed, so the replacement is drawn from ', pWord('p'),
      ' itself.',
    );
  return say(
    'Who replaces ', inkOf(scene, scene.cell.id), '? What kept drafts don’t deliver is still owed: ',
    pWord(number(scene.final.mass)), ' in all, stretched to fill 1.',
  );
};

const replacedWords = (scene) => {
  const { final } = scene;
  const [p, q] = pqOf(scene.cell);
  const why = scene.greedy ? ['was rejected: it is not the target’s favourite. Its place goes to ', inkOf(scene, final.id), ', which is.']
    : ['was rejected (', qWord(`q ${q}`), ', ', pWord(`p ${p}`), '). Its place goes to ', inkOf(scene, final.id),
      final.fallback ? ', drawn from p itself: nothing was owed.' : ', drawn from what the target is still owed.'];
  return say(inkOf(scene, scene.cell.id), ' ', ...why);
};

// The same place under the mistake that one can switch to: what it would do, and what the run itself did.
const fromPWords = (scene) => {
  const { cell, final, act } = scene;
  return say(
    'Replaced from ', pWord('p itself'), ': that gives again what kept drafts deliver already',
    ...(cell.p > 0 ? [', even ', inkOf(scene, cell.id)] : []), '.',
    ...(act === 'draw' ? [' This run drew ', inkOf(scene, final.id), ', from what is owed.'] : []),
  );
};

const discardedWords = (scene) => {
  const { cell, step } = scene;
  const rejected = step.drafts.find((draft) => draft.state === 'rejected');
  return say(
    inkOf(scene, cell.id),
    ' is not used: ',
    ...(rejected
      ? ['it was drafted after ', inkOf(scene, rejected.id), ', which was rejected.']
      : ['the end token before it was kept.']),
    ' The target has read it too', ...(cell.p === null ? [] : [' and gave it ', pWord(`p ${number(cell.p)}`)]),
    ', but no coin is tossed for it.',
  );
};

const WHY_ALONE = {
  length: ', since this is the last token asked for',
  context: ', since the context is nearly full',
  proposals: ', since the draft had nothing to propose',
};

const bonusWords = (scene) => {
  const name = inkOf(scene, scene.cell.id);
  if (scene.step.k === 0)
    return say(name, ' is the target’s own draw: nothing was drafted in this step', WHY_ALONE[scene.step.k_reason] ?? '', '.');
  return say('Every draft of this step was kept, so the same target pass gives one more token: ', name, ', drawn from ', pWord('p'), '.');
};

const waitingWords = (scene) =>
  scene.step.k === 0
    ? say('Nothing is drafted in this step: the target draws its own token.')
    : say(
        'The same pass gives one law more than there are drafts. ',
        'It is used only if every draft is kept; else what is owed to a rejected one is.',
      );

export const SAYINGS = {
  draft: draftWords, verify: verifyWords, threshold: thresholdWords, coin: coinWords, owed: owedWords, draw: replacedWords,
  discarded: discardedWords, fromP: fromPWords, bonus: bonusWords, waiting: waitingWords,
};

// --- the rule with numbers --------------------------------------------------------------------------------------------

// p and q with as many digits as make min(1, p/q) come out as the bound that is written beside them.
const ratioParts = (cell, bound) => {
  const [p, q] = comingOut([cell.p, cell.q], (...law) => Math.min(1, law[0] / law[1]), bound);
  return [
    'min(1, ', make('span', 'sv-p', 'p'), '/', make('span', 'sv-q', 'q'), ') = min(1, ', formulaTerm(pWord(p), 'p'),
    '/', formulaTerm(qWord(q), 'q'), ') = ', formulaTerm(strong(bound), 'bound'),
  ];
};

/** @type {(scene: Scene) => HTMLElement} */
export const thresholdFormula = ({ cell }) => formulaLine(...ratioParts(cell, number(chanceOf(cell))));

/** @type {(scene: Scene) => HTMLElement} */
export const coinFormula = ({ cell }) => {
  const [coin, bound] = coinTexts(cell);
  return formulaLine(
    formulaTerm(strong(coin), 'coin'), ' < ', ...ratioParts(cell, bound), ' ? ',
    strong(cell.state === 'accepted' ? 'yes' : 'no'),
  );
};

/** @type {(scene: Scene) => HTMLElement} */
export const drawFormula = ({ final, trace }) => {
  const chance = number(final.high - final.low);
  if (trace.settings.fault) return formulaLine('drawn with ', strong(chance));
  if (final.kind === 'bonus' || final.fallback)
    return formulaLine('drawn with ', make('span', 'sv-p', 'p'), ' = ', formulaTerm(pWord(number(final.p)), 'drawn-p'));
  const [p, q, owed] = comingOut([final.p, final.q, final.mass], (...of) => (of[0] - of[1]) / of[2], chance);
  return formulaLine(
    '(', make('span', 'sv-p', 'p'), ' − ', make('span', 'sv-q', 'q'), ')/owed = (', formulaTerm(pWord(p), 'drawn-p'),
    ' − ', formulaTerm(qWord(q), 'drawn-q'), ')/', formulaTerm(pWord(owed), 'owed'), ' = ',
    formulaTerm(strong(chance), 'piece'),
  );
};
