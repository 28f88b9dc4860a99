/** The meaning of a line that was entered at the prompt of a chat. */
export type EnteredLine =
  | { type: 'nothing' }
  | { type: 'message'; text: string }
  | { type: 'help' }
  | { type: 'status' }
  | { type: 'exit' }
  | { type: 'unknown'; command: string };

/** The commands of a chat, for `/help`. */
export const CHAT_HELP: readonly string[] = [
  '/help     shows this help',
  '/status   shows the turns of the session, and what they have used of its limits',
  '/exit     leaves; the session stays. So do Ctrl-D, and Ctrl-C at an empty prompt',
  'Ctrl-C    while the agent works or asks: interrupts the turn; a second time: leaves',
  'Every other line is a message. To send one that is a slash and a word, write a space before it.',
];

/** Returns what a line means. A command is a slash and a word, and nothing else. */
export function readLine(line: string): EnteredLine {
  const text = line.trim();
  if (text === '') return { type: 'nothing' };
  const [, word] = /^\/(\S*)\s*$/.exec(line) ?? [];
  switch (word) {
    case undefined:
      return { type: 'message', text };
    case 'help':
    case 'status':
    case 'exit':
      return { type: word };
    default:
      return { type: 'unknown', command: text };
  }
}
