import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { TerminalLines } from '../../../src/cli/chat/chat.ts';

const CTRL_C = '\u0003';
const CTRL_D = '\u0004';

interface Keyboard {
  lines: TerminalLines;
  type: (text: string) => Promise<void>;
  screen: () => string;
}

function keyboard(): Keyboard {
  const [input, output] = [new PassThrough(), new PassThrough()];
  let shown = '';
  output.on('data', (chunk: Buffer) => (shown += chunk.toString()));
  const type = async (text: string): Promise<void> => {
    input.write(text);
    await new Promise((resolve) => setTimeout(resolve, 5));
  };
  return { lines: new TerminalLines({ input, output }), type, screen: () => stripVTControlCharacters(shown).replaceAll('\r', '') };
}

test('a line that is typed before the prompt is the next one, and is shown after the prompt', async () => {
  const { lines, type, screen } = keyboard();
  await type('early\r');
  expect(await lines.ask('> ')).toEqual({ type: 'line', text: 'early' });
  expect(screen()).toContain('> early\n');
  const asked = lines.ask('> ');
  await type('late\r');
  expect(await asked).toEqual({ type: 'line', text: 'late' });
  lines.close();
});

test('text that was typed before a fresh prompt is not an answer to it, not even an unfinished line', async () => {
  const { lines, type } = keyboard();
  await type('y\rye');
  const asked = lines.ask('Run it? ', { fresh: true });
  await type('n\r');
  expect(await asked).toEqual({ type: 'line', text: 'n' });
  lines.close();
});

test('Ctrl-C discards a line that was begun, and is the reaction on an empty one', async () => {
  const { lines, type } = keyboard();
  const asked = lines.ask('> ');
  await type(`never mind${CTRL_C}`);
  await type(CTRL_C);
  expect(await asked).toEqual({ type: 'interrupt' });
  lines.close();
});

test('at a fresh prompt Ctrl-C is the reaction, even if a line was begun', async () => {
  const { lines, type } = keyboard();
  const asked = lines.ask('Run it? ', { fresh: true });
  await type(`ye${CTRL_C}`);
  expect(await asked).toEqual({ type: 'interrupt' });
  const next = lines.ask('> ');
  await type('hello\r');
  expect(await next).toEqual({ type: 'line', text: 'hello' });
  lines.close();
});

test('each Ctrl-C while no line is asked for goes to the listener, and so does Ctrl-D', async () => {
  const { lines, type } = keyboard();
  const heard: string[] = [];
  lines.onInterruption((by) => heard.push(by));
  await type(`${CTRL_C}${CTRL_C}`);
  expect(heard).toEqual(['interrupt', 'interrupt']);
  await type(CTRL_D);
  expect(heard).toEqual(['interrupt', 'interrupt', 'end']);
  expect(await lines.ask('> ')).toEqual({ type: 'end' });
});

test('Ctrl-D at a prompt is the end of the input', async () => {
  const { lines, type } = keyboard();
  const asked = lines.ask('> ');
  await type(CTRL_D);
  expect(await asked).toEqual({ type: 'end' });
});
