// A late answer never overwrites what the visitor has set since the question. `specviz/page/late.py` connects it.
//
// `ask` runs before a question is sent, `merge` when its answer is there, `linkedTab` when the link's is. Controls are known by
// Gradio's numbers.

import { announce } from '../player/state/bridge.js';

const FORGOTTEN_AFTER = 64; // questions that were never answered: a handler failed, or was stopped

let asked = 0;
const questions = new Map(); // by number: what each control held when it was asked
const put = new Map(); // by control: the value that an answer has put there, and by which question

const isSame = (a, b) => JSON.stringify(a) === JSON.stringify(b);

// What an answer has put into a control counts no longer once the control holds something else.
const forget = (id, now) => {
  if (put.has(id) && !isSame(put.get(id).value, now)) put.delete(id);
};

// Notes what the controls hold, and returns what is sent: the inputs; for controls that are only answered, any value that
// Gradio takes; the question's number. Whoever waits for a tab's opening to be asked hears of it: what is set from then on
// stands against its answer.
export const ask = ({ given, watched, instead, opening }, values) => {
  asked += 1;
  watched.forEach((id, i) => forget(id, values[i]));
  questions.set(asked, new Map(watched.map((id, i) => [id, values[i]])));
  if (questions.size > FORGOTTEN_AFTER) questions.delete(questions.keys().next().value);
  if (opening) announce('opening', opening);
  const inputs = values.slice(0, given);
  return [...inputs, ...instead, String(asked)];
};

// Whether a control holds what it held when it was asked, or what an answer has put there; and no later question's.
const isFree = (id, now, held, number, tells) => {
  const answered = put.get(id);
  const untouched = isSame(now, held) || (answered !== undefined && isSame(now, answered.value));
  return untouched && (tells || answered === undefined || answered.by <= number);
};

// Returns the values that an answer may put, in the order of `contested` (undefined leaves a control alone), and as
// one more, for what calculates again, the number of a question whose answer is about other values than there are now.
export const merge = ({ watched, contested, tells }, [carried, ...current]) => {
  const answer = carried?.startsWith('{') ? JSON.parse(carried) : null;
  const number = Number(answer?.question);
  const held = questions.get(number);
  if (held === undefined) return [];
  questions.delete(number);
  const now = new Map(watched.map((id, i) => [id, current[i]]));
  const taken = new Map();
  Object.entries(answer.values).forEach(([key, { value, keep }]) => {
    const id = Number(key);
    const mustGo = keep !== undefined && !keep.includes(now.get(id));
    if (mustGo || isFree(id, now.get(id), held.get(id), number, tells.includes(id))) taken.set(id, value);
  });
  taken.forEach((value, id) => put.set(id, { value, by: number }));
  const about = (id) => (id in answer.values ? answer.values[id].value : held.get(id));
  const isOld = watched.some((id) => !isSame(taken.has(id) ? taken.get(id) : now.get(id), about(id)));
  return [...contested.map((id) => taken.get(id)), isOld ? String(number) : undefined];
};

// The tab that the link names, once the page shows what the link asks for; any other name leaves the page where it is.
// A tab that was pressed meanwhile stands in the address by then.
export const linkedTab = (names) => {
  const name = new URLSearchParams(window.location.search).get('tab');
  return names.includes(name) ? { __type__: 'update', selected: name } : undefined;
};
