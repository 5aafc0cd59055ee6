// The line above the controls: a caption, a notice, or what was run and what to look for in it.

import { DRAFT_KINDS, rereadWords, WHY_STOPPED } from '../run/cells.js';
import { number } from '../run/numbers.js';
import { branching } from '../state/branches.js';
import { part } from '../state/host.js';
import { isPhone } from '../state/modes.js';
import { captionNow, isPredicting } from '../state/reveal.js';
import { state } from '../state/state.js';
import { make } from './dom.js';

const PURPOSE_WORDS = {
  accept: (step, position) => `coin ${position} of step ${step}`,
  draft: (step, position) => `the draw of draft ${position} in step ${step}`,
  final: (step) => `the last draw of step ${step}`,
};

const overrideWords = ([step, position, purpose, u]) => `${PURPOSE_WORDS[purpose](step, position)} set to ${number(u)}`;

// What marks a branch in every heading: which numbers were put in its place, those of its parents too.
const branchMark = (trace) => {
  const { overrides } = trace.settings;
  if (overrides.length === 0) return [];
  const what = trace.parent === null ? 'numbers put in' : overrides.length > 1 ? 'a branch of a branch' : 'a branch';
  return [make('b', 'sv-branched', `${what}: ${overrides.map(overrideWords).join('; ')}`), ' · '];
};

const noticeNow = () => (branching.notice === null ? null : make('b', 'sv-notice', branching.notice));

const titleOf = (trace, settled) => {
  const { settings, weights } = trace;
  const draft = DRAFT_KINDS[settings.draft.kind] ?? settings.draft.name;
  const where = weights?.target ? ` · ${weights.target.dtype} on ${weights.target.device}` : '';
  const stop = settled ? ` · ${WHY_STOPPED[trace.stop]}` : '';
  const { pair, k, temperature, seed } = settings;
  const rereads = rereadWords(trace) && ` · ${rereadWords(trace)}`;
  return `${pair} with ${draft} as draft · K ${k} · temperature ${temperature} · seed ${seed}${where}${rereads}${stop}`;
};

const endButton = () => {
  const node = make('button', 'sv-end', isPhone() ? 'end the captions' : 'Esc ends the captions');
  node.type = 'button';
  node.dataset.do = 'captions';
  return node;
};

// One line above the controls: a caption, or what to look for in this run, and what was run.
export const drawLine = () => {
  const { trace, recorded } = state;
  const caption = captionNow();
  part('line').toggleAttribute('data-caption', caption !== null);
  if (caption) {
    part('line').replaceChildren(make('span', 'sv-caption', caption.text), endButton());
    return;
  }
  const notice = noticeNow();
  if (notice) {
    part('line').replaceChildren(notice);
    return;
  }
  const fault = trace.settings.fault ? [make('b', 'sv-fault', `deliberate mistake: ${trace.settings.fault}`), ' · '] : [];
  const look = recorded ? [make('b', '', recorded.title), isPredicting() ? ' · ' : ` · ${recorded.look_for} `] : [];
  const about = titleOf(trace, !state.live && !isPredicting());
  part('line').replaceChildren(...fault, ...branchMark(trace), ...look, make('span', 'sv-about', about));
  part('line').title = about;
};
