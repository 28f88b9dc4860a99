import { TerminalChat } from '../../../src/cli/chat/chat.ts';
import type { OpenChat } from '../../../src/cli/chat/conversation.ts';
import type { Lines, Reaction } from '../../../src/cli/chat/input.ts';
import { commandIo, type KeptIo } from '../command-io.ts';

/** The keyboard of a person: each line and key is a reaction to the prompt if there is one, and otherwise an interruption. */
export class FakeLines implements Lines {
  readonly prompts: string[] = [];
  #react: ((reaction: Reaction) => void) | undefined;
  #interrupted: (by: 'interrupt' | 'end') => void = () => undefined;

  ask(prompt: string): Promise<Reaction> {
    this.prompts.push(prompt);
    return new Promise((resolve) => (this.#react = resolve));
  }

  onInterruption(listener: (by: 'interrupt' | 'end') => void): void {
    this.#interrupted = listener;
  }

  close(): void {}

  /** Waits for a prompt, and enters a line. */
  async enter(text: string): Promise<void> {
    await this.prompted();
    this.#settle({ type: 'line', text });
  }

  async prompted(): Promise<void> {
    await until(() => this.#react !== undefined);
  }

  press(key: 'interrupt' | 'end' = 'interrupt'): void {
    if (this.#react === undefined) this.#interrupted(key);
    else this.#settle({ type: key });
  }

  #settle(reaction: Reaction): void {
    const react = this.#react;
    this.#react = undefined;
    react?.(reaction);
  }
}

/** Never answers, as a session without a worker. */
export const never = (): Promise<never> => new Promise(() => undefined);

/** A request that is answered when the test says so. */
export class Later<Answer> {
  resolve: (answer: Answer) => void = () => undefined;
  reject: (error: Error) => void = () => undefined;
  readonly answer = new Promise<Answer>((resolve, reject) => ([this.resolve, this.reject] = [resolve, reject]));
}

export async function until(condition: () => boolean): Promise<void> {
  for (let turns = 0; !condition(); turns += 1) {
    if (turns > 2_000) throw new Error('it does not happen');
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

export interface FakeChat {
  lines: FakeLines;
  kept: KeptIo;
  /** The requests to the session, in order. */
  requests: unknown[][];
  exitCode: Promise<number>;
}

/** The answers of a session to requests by their names. Without one, a request is never answered. */
export type FakeAnswers = Partial<Record<'send' | 'interrupt' | 'status' | 'approvals' | 'approve' | 'result', () => Promise<unknown>>>;

/** Begins a chat with a session that answers like this; `events` are those that it records while it is followed. */
export function fakeChat(
  answers: FakeAnswers,
  { events, status, live }: { events?: () => AsyncGenerator<unknown>; status?: unknown; live?: OpenChat['live'] } = {},
): FakeChat {
  const [kept, lines] = [commandIo(), new FakeLines()];
  const requests: unknown[][] = [];
  const request =
    (name: keyof FakeAnswers) =>
    (...args: unknown[]): Promise<unknown> => {
      requests.push([name, ...args]);
      return (answers[name] ?? never)();
    };
  const run = {
    runId: 'talk-1',
    events: ({ follow = false }: { follow?: boolean }) => (follow && events !== undefined ? events() : nothing(follow)),
    approvals: request('approvals'),
    approve: request('approve'),
    result: request('result'),
  };
  const session = { id: 'talk-1', run, send: request('send'), interrupt: request('interrupt'), status: request('status') };
  const open = { client: { temporal: {} }, session, status, live } as unknown as OpenChat;
  const exitCode = new TerminalChat(kept.io, { agent: 'clerk' }, open, lines).talk();
  return { lines, kept, requests, exitCode };
}

/** The events of a run that records nothing: if it is followed, they do not end. */
async function* nothing(follow: boolean): AsyncGenerator<never> {
  if (follow) await never();
  yield* [];
}
