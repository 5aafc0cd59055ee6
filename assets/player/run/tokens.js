// One spelling for every token: nothing invisible, nothing that can act.

const SHOWN = { ' ': '␣', '\n': '↵', '\t': '⇥', '\r': '␍', '\u00a0': '⍽' };

const INVISIBLE =
  /[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202f\u205f-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0]/u;

const hex = (code, width) => code.toString(16).toUpperCase().padStart(width, '0');

const visibleCharacter = (character) => {
  const code = character.codePointAt(0);
  if (SHOWN[character]) return SHOWN[character];
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  if (code === 0x7f) return '␡';
  if (code >= 0xdc80 && code <= 0xdcff) return `⟨${hex(code - 0xdc00, 2)}⟩`; // a byte that is no UTF-8 alone
  if ((code >= 0xd800 && code <= 0xdfff) || (code >= 0x80 && code <= 0x9f) || INVISIBLE.test(character)) {
    return `⟨U+${hex(code, 4)}⟩`;
  }
  return character;
};

/** @type {(text: string) => string} */
export const visible = (text) => (text === '' ? '⟨empty⟩' : Array.from(text, visibleCharacter).join(''));

/** @type {(tokens: Object<string, string>, id: number) => string} */
export const nameOf = (tokens, id) => (tokens[id] === undefined ? `⟨id ${id}⟩` : visible(tokens[id]));

// Bytes of a token's text; a lone surrogate U+DC80 … U+DCFF stands for one raw byte.
const bytesOf = (text) => {
  const encoder = new TextEncoder();
  const bytes = [];
  for (const character of text) {
    const code = character.codePointAt(0);
    if (code >= 0xdc80 && code <= 0xdcff) bytes.push(code - 0xdc00);
    else bytes.push(...encoder.encode(character));
  }
  return new Uint8Array(bytes);
};

// Readable text token by token: a character split over several tokens appears with its last one.
/** @type {(texts: string[]) => string[]} */
export const readable = (texts) => {
  const decoder = new TextDecoder();
  return texts.map((text, i) => decoder.decode(bytesOf(text), { stream: i < texts.length - 1 }));
};
