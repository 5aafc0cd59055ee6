// A thousand throws as dots that fall into the lanes of the tokens they gave.

import { THROWS } from '../../run/mass.js';
import { wantsStillness } from '../../state/modes.js';

/** @import { Throw } from '../../run/types.js' */

const FALL_MS = 260;

const THROWING_MS = 1500;

// A dot covers a thousandth of the mass, so that a lane filled up to p is a lane as long as p.
const spotsOf = (throws, boxes, perThousandth) => {
  const filled = boxes.map(() => 0);
  return throws.map(({ lane: at, kept }) => {
    const box = boxes[at];
    const rows = Math.max(1, Math.floor(box.height / Math.sqrt(perThousandth * box.height)));
    const n = filled[at];
    filled[at] += 1;
    return {
      x: box.left + (Math.floor(n / rows) + 0.5) * rows * perThousandth,
      y: box.top + ((n % rows) + 0.5) * (box.height / rows),
      kept,
      size: box.height / rows,
    };
  });
};

const drawDots = (canvas, spots, elapsed) => {
  const pen = canvas.getContext('2d');
  const style = getComputedStyle(canvas);
  const colours = { true: style.getPropertyValue('--sv-q'), false: style.getPropertyValue('--sv-p') };
  pen.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
  spots.forEach(({ x, y, kept, size }, n) => {
    const fallen = (elapsed - (THROWING_MS * n) / spots.length) / FALL_MS;
    if (fallen <= 0 || x > canvas.clientWidth) return;
    const side = Math.max(1, Math.min(3, size * 0.72));
    pen.fillStyle = colours[kept];
    pen.fillRect(x - side / 2, y * Math.min(1, fallen) ** 2 - side / 2, side, side);
  });
};

const sizeCanvas = (canvas) => {
  const scale = window.devicePixelRatio || 1;
  canvas.width = canvas.clientWidth * scale;
  canvas.height = canvas.clientHeight * scale;
  canvas.getContext('2d').scale(scale, scale);
};

// Dots fall into the output lanes `targets` of a chart; `axis` is where the lanes' full width ends.
/** @type {(canvas: HTMLCanvasElement, targets: Element[], throws: Throw[], axis: number, falling: boolean) => void} */
export const letFall = (canvas, targets, throws, axis, falling) => {
  sizeCanvas(canvas);
  const origin = canvas.getBoundingClientRect();
  const boxes = targets.map((node) => node.getBoundingClientRect())
    .map((box) => ({ left: box.left - origin.left, top: box.top - origin.top, height: box.height, width: box.width }));
  const spots = spotsOf(throws, boxes, boxes[0].width / (axis * THROWS));
  if (!falling || wantsStillness()) {
    drawDots(canvas, spots, Infinity);
    return;
  }
  const begin = performance.now();
  const frame = (now) => {
    if (!canvas.isConnected) return;
    drawDots(canvas, spots, now - begin);
    if (now - begin < THROWING_MS + FALL_MS) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
};
