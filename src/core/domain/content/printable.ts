/**
 * Replaces the control characters in a text from a model or a tool that could move the cursor, change the title of the terminal
 * or hide the text after them. Tabs and line breaks stay.
 */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- the expression matches control characters
  return text.replace(/\r\n/g, '\n').replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '\ufffd');
}

/** Does the same and joins all lines into one, so that no line of the text can pass for a line of the program. */
export function printableLine(text: string): string {
  return printable(text).replace(/\s+/g, ' ').trim();
}
