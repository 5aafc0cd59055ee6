// A thousand throws of the dice at one position: draft from q, keep with p/q, else replace. Numbers first, then dots.

const THROWS = 1000;

// A small seeded generator (mulberry32): the same press gives the same dots.
const diceOf = (seed) => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
};

const pickFrom = (weights, u) => {
  let left = u * sumOf(weights);
  const at = weights.findIndex((weight) => { left -= weight; return left < 0; });
  return at < 0 ? weights.findLastIndex((weight) => weight > 0) : at;
};

// Returns each throw as {lane, kept}, lane an index into `lanes`.
const throwDice = (lanes, fromOwed, seed) => {
  const dice = diceOf(seed);
  const [drafted, replacing] = [lanes.map((each) => each.q), lanes.map((each) => (fromOwed ? each.owed : each.p))];
  return Array.from({ length: THROWS }, () => {
    const at = pickFrom(drafted, dice());
    const kept = dice() * lanes[at].q < lanes[at].both;
    return { lane: kept ? at : pickFrom(replacing, dice()), kept };
  });
};

const countByLane = (throws, lanes) => lanes.map((_, at) => throws.filter((each) => each.lane === at).length);

const FALL_MS = 260;
const THROWING_MS = 1500;

const wantsStillness = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

// A dot covers a thousandth of the mass, so that a lane filled up to p is a lane as long as p.
const spotsOf = (throws, boxes, perThousandth) => {
  const filled = boxes.map(() => 0);
  return throws.map(({ lane: at, kept }) => {
    const box = boxes[at];
    const rows = Math.max(1, Math.floor(box.height / Math.sqrt(perThousandth * box.height)));
    const n = filled[at];
    filled[at] += 1;
    return { x: box.left + (Math.floor(n / rows) + 0.5) * rows * perThousandth, y: box.top + ((n % rows) + 0.5) * (box.height / rows), kept, size: box.height / rows };
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
const letFall = (canvas, targets, throws, axis, falling) => {
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
