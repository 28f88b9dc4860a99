const OPEN = '<think>';
const CLOSE = '</think>';

/** Removes each `<think>…</think>`, and tags that stand alone. */
export function withoutReasoning(text: string): string {
  const { kept, rest } = splitReasoning(text);
  return (kept + rest).replaceAll(OPEN, '').replaceAll(CLOSE, '');
}

/** Returns the text outside of `<think>…</think>`. A tag that is not closed leaves nothing behind it: the model was still reasoning. */
export function textBesideReasoning(text: string): string {
  const { kept, rest } = splitReasoning(text);
  const open = rest.indexOf(OPEN);
  return kept + (open < 0 ? rest : rest.slice(0, open));
}

/** Returns the text between the closed pairs of tags, and the text behind the last pair. */
function splitReasoning(text: string): { kept: string; rest: string } {
  let kept = '';
  let from = 0;
  for (;;) {
    const open = text.indexOf(OPEN, from);
    const close = open < 0 ? -1 : text.indexOf(CLOSE, open);
    if (close < 0) return { kept, rest: text.slice(from) };
    kept += text.slice(from, open);
    from = close + CLOSE.length;
  }
}
