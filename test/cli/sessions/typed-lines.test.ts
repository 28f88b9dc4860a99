import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { TypedLines } from '../../../src/cli/sessions/chat/typed-lines.ts';

const CTRL_C = '\u0003';
const CTRL_D = '\u0004';

interface Keyboard {
  lines: TypedLines;
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
  return { lines: new TypedLines({ input, output }), type, screen: () => stripVTControlCharacters(shown).replaceAll('\r', '') };
}

test('a line that is typed before the prompt is the next one, and shown behind the prompt', async () => {
  const { lines, type, screen } = keyboard();
  await type('early\r');
  expect(await lines.ask('> ')).toEqual({ type: 'line', text: 'early' });
  expect(screen()).toContain('> early\n');
  const asked = lines.ask('> ');
  await type('late\r');
  expect(await asked).toEqual({ type: 'line', text: 'late' });
  lines.close();
});

test('what was typed before a fresh prompt is no answer to it, not even a line that was only begun', async () => {
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

test('Ctrl-C and Ctrl-D while no line is asked for go to the one who waits for them', async () => {
  const { lines, type } = keyboard();
  const first = lines.interruption();
  await type(CTRL_C);
  expect(await first).toBe('interrupt');
  const second = lines.interruption();
  await type(CTRL_D);
  expect(await second).toBe('end');
  expect(await lines.interruption()).toBe('end');
  expect(await lines.ask('> ')).toEqual({ type: 'end' });
});

test('Ctrl-D at a prompt is the end of the input', async () => {
  const { lines, type } = keyboard();
  const asked = lines.ask('> ');
  await type(CTRL_D);
  expect(await asked).toEqual({ type: 'end' });
});
