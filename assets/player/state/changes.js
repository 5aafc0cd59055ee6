// What has changed, told to whoever wants to know. State and acts tell; `main.js` listens and has it drawn.
//
//   beat        another beat is shown
//   playing     playing or not, and how fast
//   choice      another cell is inspected, or another number may be put in its place
//   line        what the line above the controls says: a caption has ended, a notice came or went
//   predicting  "predict first" is on or off
//   answer      a question was answered, or is asked in another way
//   reminder    why the last key or click did less than it says
//   size        the same beat has another room: Present, a phone's width

/** @import { Change } from '../run/types.js' */

const CHANGES = ['beat', 'playing', 'choice', 'line', 'predicting', 'answer', 'reminder', 'size'];

const changes = new EventTarget();

// A change that is on no list has nobody who listens.
const known = (change) => {
  if (!CHANGES.includes(change)) throw new Error(`nothing is told of "${change}"`);
  return change;
};

/** @type {(change: Change) => boolean} */
export const tell = (change) => changes.dispatchEvent(new Event(known(change)));

/** @type {(change: Change, act: () => void) => void} */
export const on = (change, act) => changes.addEventListener(known(change), act);
