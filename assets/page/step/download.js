// Hands the visitor a file that the server made: its name, its type and its text come as one JSON string.

import { announce } from '../../player/state/bridge.js';

const hand = () => {
  if (!props.value) return;
  const { name, type, text, error } = JSON.parse(props.value);
  announce('file', { name, error });
  if (error) return;
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
};

watch('value', hand);
