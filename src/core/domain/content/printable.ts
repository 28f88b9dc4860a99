/**
 * Text from a model or a tool as it may be shown: without the control characters that could move the cursor, retitle
 * the window, or hide what comes after. Tabs and line breaks stay.
 */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  return text.replace(/\r\n/g, '\n').replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '\ufffd');
}

/** The same on one line: a line break must not begin a line that looks like ours. */
export function printableLine(text: string): string {
  return printable(text).replace(/\s+/g, ' ').trim();
}
