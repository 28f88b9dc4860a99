import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { callTool, hang, say, scriptedModel } from '../../../src/testing/index.ts';
import { Testbed, until } from '../testbed/testbed.ts';

const MAIN = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));

/** The reason why there is no pseudo-terminal here; undefined if there is one. `script` of util-linux makes it. */
function missingTerminal(): string | undefined {
  const { stdout } = spawnSync('script', ['--version'], { encoding: 'utf8' });
  return stdout?.includes('util-linux') ? undefined : 'it needs "script" of util-linux for a pseudo-terminal';
}

/** The command line in a separate process, on a pseudo-terminal. */
class TerminalProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown[]>;
  #output = '';
  /** The part of the output that was waited for. */
  #seen = 0;

  constructor(args: readonly string[], env: Record<string, string> = {}) {
    const command = [process.execPath, MAIN, ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
    this.#child = spawn('script', ['--quiet', '--flush', '--return', '--command', command, '/dev/null'], {
      env: { ...process.env, TERM: 'xterm', NO_COLOR: '1', ...env },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#child.stdout?.on('data', (chunk: Buffer) => (this.#output += chunk.toString()));
    this.#ended = once(this.#child, 'close');
  }

  /** Everything that the terminal has shown so far, without control sequences. */
  get screen(): string {
    return stripVTControlCharacters(this.#output).replaceAll('\r', '');
  }

  /** Types text, or keys as their control characters. */
  type(text: string): void {
    this.#child.stdin?.write(text);
  }

  /** Waits until the terminal shows a text after all that was waited for before. */
  async shows(text: string): Promise<void> {
    const deadline = Date.now() + 30_000;
    for (;;) {
      const at = this.screen.indexOf(text, this.#seen);
      if (at >= 0) {
        this.#seen = at + text.length;
        return;
      }
      if (Date.now() > deadline || this.#child.exitCode !== null)
        throw new Error(`Waited for "${text}"; the terminal shows:\n${this.screen}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Waits for the end of the process, and returns its exit code. */
  async exitCode(): Promise<number> {
    const [code] = await this.#ended;
    return Number(code);
  }

  /** Ends the process if it is still running. */
  [Symbol.dispose](): void {
    this.#child.kill('SIGKILL');
  }
}

const CTRL_C = '\u0003';
const CTRL_D = '\u0004';

const refund = defineTool({
  name: 'refund',
  description: 'Pays money back',
  parameters: z.object({ amount: z.number() }),
  approval: 'always',
  execute: ({ amount }) => `paid ${amount}`,
});

const clerk = defineAgent({ name: 'clerk', model: 'scripted/m', tools: [refund] });

test.skipIf(missingTerminal() !== undefined)(
  'a person types, approves with other arguments, interrupts a turn, leaves, and comes back to the conversation in another process',
  async () => {
    await using testbed = await Testbed.open();
    const script = [
      say('Hello.'),
      callTool('refund', { amount: 80 }),
      say('It is paid.\u001b]0;owned\u0007'),
      hang('Let me th'),
      say('I am back.'),
    ];
    const scripted = scriptedModel(script);
    await testbed.work({ agents: [clerk], providers: { scripted }, heartbeatEvery: 60_000 });
    const id = `talk-${randomUUID()}`;
    const args = ['chat', 'clerk', '--session', id, '--address', testbed.address, '--task-queue', testbed.taskQueue];

    using first = new TerminalProcess(args);
    await first.shows('/help shows what you can enter.');
    first.type('/status\r');
    await first.shows('The session begins with your first message.');
    first.type('hi there\r');
    await first.shows('Hello.\n');
    first.type('pay me 80\r');
    // The call comes before the question about it.
    await first.shows('→ refund {"amount":80}');
    await first.shows('Run it? (y, n, n and a reason, e to edit) ');
    first.type('maybe\r');
    await first.shows('Write y to run it');
    first.type('e\r');
    await first.shows('The arguments as JSON: ');
    first.type('{"amount": 5}\r');
    await first.shows('with {"amount":5}');
    await first.shows('← paid 5');
    await first.shows('It is paid.\ufffd]0;owned\ufffd');
    first.type('think\r');
    await until(() => scripted.requests.length === 4, 'the model call that hangs');
    first.type(CTRL_C);
    await first.shows('Interrupting the turn.');
    await first.shows('Let me th');
    await first.shows('turn 3 ended: cancelled');
    await first.shows('> ');
    first.type(`not sent${CTRL_C}`);
    await first.shows('^C\n> ');
    first.type(CTRL_C);
    await first.shows(`To come back: npx longhaul chat clerk --session ${id}`);
    expect(await first.exitCode()).toBe(0);

    using second = new TerminalProcess(args);
    await second.shows('> hi there\nHello.\n');
    await second.shows('> pay me 80\nIt is paid.');
    await second.shows('> think\nLet me th\n(turn 3 ended: cancelled)');
    second.type('and now?\r');
    await second.shows('I am back.\n');
    second.type('/status\r');
    await second.shows('4, the last one ended');
    second.type(CTRL_D);
    await second.shows('To come back:');
    expect(await second.exitCode()).toBe(0);
    expect(scripted.requests).toHaveLength(5);
  },
);

test.skipIf(missingTerminal() !== undefined)(
  'a second Ctrl-C leaves while the turn is not interrupted yet, with and without a worker, and a session that fails says why',
  async () => {
    await using testbed = await Testbed.open();
    const id = `talk-${randomUUID()}`;
    const chat = (sessionId: string, ...more: string[]): string[] => {
      const place = ['--address', testbed.address, '--task-queue', testbed.taskQueue];
      return ['chat', 'clerk', '--session', sessionId, ...more, ...place];
    };
    using alone = new TerminalProcess(chat(id));
    await alone.shows('/help shows what you can enter.');
    alone.type('hi there\r');
    await alone.shows('No worker has taken');
    alone.type(CTRL_C);
    await alone.shows('Interrupting the turn. Ctrl-C again leaves.');
    alone.type(CTRL_C);
    await alone.shows('The session may have taken the message');
    await alone.shows(`To come back: npx longhaul chat clerk --session ${id}`);
    expect(await alone.exitCode()).toBe(0);

    const other = `talk-${randomUUID()}`;
    const scripted = scriptedModel([callTool('refund', { amount: 80 })]);
    const strict = defineAgent({ name: 'clerk', model: 'scripted/m', tools: [refund], deps: z.object({ customer: z.string() }) });
    await testbed.work({ agents: [strict], providers: { scripted } });
    using asked = new TerminalProcess(chat(other, '--deps', '{"customer": "Ada"}'));
    await asked.shows('/help shows what you can enter.');
    asked.type('pay me 80\r');
    await asked.shows('Run it? (y, n, n and a reason, e to edit) ');
    asked.type(`ye${CTRL_C}${CTRL_C}`);
    await asked.shows('Interrupting the turn.');
    await asked.shows('To come back:');
    expect(await asked.exitCode()).toBe(0);

    using failing = new TerminalProcess(chat(`talk-${randomUUID()}`));
    await failing.shows('/help shows what you can enter.');
    failing.type('hi\r');
    await failing.shows('The session has ended with an error (invalid_input): The deps do not fit agent "clerk"');
    await failing.shows('--deps: npx longhaul chat clerk');
    expect(await failing.exitCode()).toBe(2);
  },
);
