import { beforeEach, describe, expect, test } from 'vitest';
import { type ChildEffects, followChild } from '../../../src/core/capabilities/children/children.ts';
import type { ChildEnd, MessageProblem, ReadChild } from '../../../src/core/domain/children.ts';
import type { ChildCall, ChildOutcome, NextTurnInput } from '../../../src/core/domain/children.ts';
import { closeUnstarted } from '../../../src/core/kernel/run-loop.ts';

const HOUR = 3_600_000;
const START = { kind: 'agent' as const, input: { agent: 'a', input: 'Go' } };
const RESULT = closeUnstarted(
  { runId: 'child', agentName: 'a', startedAt: 0 },
  { now: () => 1 },
  { output: 'Done', status: 'completed', stopReason: 'final_answer' },
);
const ENDED: ReadChild & ChildEnd = { type: 'ended', result: RESULT };

/** A child whose fate the test decides, which records what is done to it. */
class Child implements ChildEffects {
  clock = 0;
  closed: ChildEnd | undefined;
  hasTold = false;
  cancelAsked = false;
  canBeTold = true;
  refused: MessageProblem | undefined;
  reading: ReadChild = ENDED;
  readonly did: string[] = [];
  /** Called in each wait that does not end at once. */
  meanwhile: (() => void)[] = [];

  async start(): Promise<string | undefined> {
    this.did.push('start');
    return undefined;
  }
  async sendNext({ turn }: NextTurnInput): Promise<MessageProblem | undefined> {
    this.did.push(`send message of turn ${turn}`);
    return this.refused;
  }
  end(): ChildEnd | undefined {
    return this.closed;
  }
  hasReported(): boolean {
    return this.hasTold;
  }
  isCancelled(): boolean {
    return this.cancelAsked;
  }
  async tell(): Promise<boolean> {
    this.did.push('tell');
    this.meanwhile.shift()?.();
    return this.canBeTold;
  }
  async cancel(): Promise<void> {
    this.did.push('cancel');
  }
  async read({ ifEnded }: { ifEnded?: true } = {}): Promise<ReadChild> {
    this.did.push(ifEnded ? `check at ${this.clock / HOUR}` : 'read');
    return this.reading;
  }
  async wait(isMet: () => boolean, deadline?: { at: number }): Promise<void> {
    while (!isMet()) {
      const next = this.meanwhile.shift();
      if (next !== undefined) next();
      else if (deadline === undefined) throw new Error('waits for ever');
      else {
        this.clock = deadline.at;
        return;
      }
    }
  }
  now(): number {
    return this.clock;
  }

  follow(how: Partial<Pick<ChildCall, 'start' | 'turn' | 'next' | 'isLeft' | 'seenAt'>> = {}): Promise<ChildOutcome> {
    return followChild(this, { runId: 'child', seenAt: 0, isLeft: () => false, ...how }, HOUR);
  }
}

let child: Child;
beforeEach(() => void (child = new Child()));

describe('a child that this execution has started', () => {
  test('ends with the result of its closing event', async () => {
    child.meanwhile = [() => (child.closed = ENDED)];
    expect(await child.follow({ start: START })).toEqual(ENDED);
    expect(child.did).toEqual(['start']);
  });

  test('is read if its closing event does not hold all of it', async () => {
    for (const closed of [{ type: 'unread' }, { type: 'ended', result: { ...RESULT, outputTruncated: true } }] as ChildEnd[]) {
      child = new Child();
      child.closed = closed;
      expect(await child.follow({ start: START })).toEqual(ENDED);
      expect(child.did).toEqual(['start', 'read']);
    }
  });

  test('is told where to report before the run continues', async () => {
    child.clock = 5;
    expect(await child.follow({ start: START, isLeft: () => true })).toEqual({ type: 'left', seenAt: 5 });
    expect(child.did).toEqual(['start', 'tell']);
  });

  test('that ends while it is being told is taken in this execution', async () => {
    child.meanwhile = [() => (child.closed = ENDED)];
    expect(await child.follow({ start: START, isLeft: () => true })).toEqual(ENDED);
    const closing = new Child();
    closing.canBeTold = false;
    closing.meanwhile = [() => undefined, () => (closing.closed = ENDED)];
    expect(await closing.follow({ start: START, isLeft: () => true })).toEqual(ENDED);
  });

  test('is cancelled with the run, which waits for its end for a bounded time', async () => {
    child.cancelAsked = true;
    child.meanwhile = [() => (child.closed = { type: 'unread' })];
    expect(await child.follow({ start: START })).toMatchObject({ type: 'cancelled', result: { output: 'Done' } });
    expect(child.did).toEqual(['start', 'cancel', 'read']);
    const deaf = new Child();
    deaf.cancelAsked = true;
    expect(await deaf.follow({ start: START })).toEqual({ type: 'cancelled' });
    expect(deaf.clock).toBe(60_000);
  });
});

describe('a child that an earlier execution has started', () => {
  test('is read once, after it has reported its end', async () => {
    child.meanwhile = [() => (child.hasTold = true)];
    expect(await child.follow()).toEqual(ENDED);
    expect(child.did).toEqual(['read']);
  });

  test('is read although the run continues, if it has reported', async () => {
    child.hasTold = true;
    expect(await child.follow({ isLeft: () => true })).toEqual(ENDED);
  });

  test('is left again without a word: it knows where to report', async () => {
    expect(await child.follow({ isLeft: () => true, seenAt: 7 })).toEqual({ type: 'left', seenAt: 7 });
    expect(child.did).toEqual([]);
  });

  test('is checked an hour after it was last seen, and each hour from then on', async () => {
    child.clock = HOUR / 2;
    child.reading = { type: 'running' };
    const checks = [() => undefined, () => (child.reading = { type: 'failed', code: 'run_terminated', message: 'gone' })];
    const read = child.read.bind(child);
    child.read = async (options) => {
      checks.shift()?.();
      return read(options);
    };
    expect(await child.follow()).toMatchObject({ type: 'failed', code: 'run_terminated' });
    expect(child.did).toEqual(['check at 1', 'check at 2']);
  });

  test('a check that fails says nothing about the child', async () => {
    child.reading = { type: 'failed', code: 'server_unreachable', message: 'no answer' };
    const read = child.read.bind(child);
    child.read = async (options) => {
      const found = await read(options);
      child.hasTold = true;
      child.reading = ENDED;
      return found;
    };
    expect(await child.follow()).toEqual(ENDED);
    expect(child.did).toEqual(['check at 1', 'read']);
  });
});

describe('a turn of a session that the run keeps', () => {
  const next = { turn: 2, content: 'And then?', runs: 0 };

  test('begins with the start of the session, or with a message to it, and is read once it has ended', async () => {
    child.meanwhile = [() => (child.hasTold = true)];
    expect(await child.follow({ start: START, turn: 1 })).toEqual(ENDED);
    expect(child.did).toEqual(['start', 'read']);
    child.hasTold = false;
    child.meanwhile = [() => (child.hasTold = true)];
    expect(await child.follow({ turn: 2, next })).toEqual(ENDED);
    expect(child.did.slice(2)).toEqual(['send message of turn 2', 'read']);
  });

  test('does not begin if its session has ended', async () => {
    child.refused = { code: 'run_ended', message: 'its session has ended' };
    expect(await child.follow({ turn: 2, next })).toEqual({
      type: 'failed',
      code: 'run_ended',
      message: 'its session has ended',
      unstarted: true,
    });
  });

  test('is left without a word, and waited for by the next execution, which sends nothing again', async () => {
    expect(await child.follow({ start: START, turn: 1, isLeft: () => true, seenAt: 3 })).toEqual({ type: 'left', seenAt: 3 });
    expect(child.did).toEqual(['start']);
    child.hasTold = true;
    expect(await child.follow({ turn: 1 })).toEqual(ENDED);
    expect(child.did).toEqual(['start', 'read']);
  });

  test('is read if the session ends in it, and interrupted with the run', async () => {
    const gone = new Child();
    gone.reading = { type: 'failed', code: 'run_terminated', message: 'gone' };
    gone.meanwhile = [() => (gone.closed = { type: 'unread' })];
    expect(await gone.follow({ turn: 2, next })).toMatchObject({ type: 'failed', code: 'run_terminated' });
    child.cancelAsked = true;
    child.meanwhile = [() => (child.hasTold = true)];
    expect(await child.follow({ turn: 2, next })).toMatchObject({ type: 'cancelled', result: { output: 'Done' } });
    expect(child.did).toEqual(['send message of turn 2', 'cancel', 'read']);
  });
});
