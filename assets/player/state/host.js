// The player's own element and its named parts. `element` is Gradio's word for the component a script belongs to.

/** @type {() => HTMLElement} */
export const root = () => element.querySelector('.sv-player');

/** @type {(name: string) => any} */
export const part = (name) => element.querySelector(`[data-part="${name}"]`);
