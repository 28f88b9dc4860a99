import assert from 'node:assert/strict';
import { describe, expect, it } from 'vitest';
import { type ForgetPorts, forgetUser } from '../../../src/client/removal/forget-user.ts';

/** A run in the fake world. */
interface FakeRun {
  isOpen: boolean;
  executions: string[];
  /** The number of lists in which the run is missing, because the server lists with a delay. */
  unlisted: number;
  /** A run that this one starts before it ends. */
  starts?: string;
  /** The number of lists until the server has removed the run; undefined until it is asked. */
  removedAfter?: number;
}

/** A server and stores with the data of one user. */
class World {
  readonly runs = new Map<string, FakeRun>();
  readonly content = new Set<string>();
  readonly calls: string[] = [];
  memory = 0;
  /** The number of the call at which the process that forgets is killed, before or after its effect. */
  crash: { at: number; isAfter: boolean } | undefined;

  constructor() {
    this.start('a', { executions: ['a1', 'a2'] });
    this.start('a/child', { executions: ['c1'] });
    this.start('b', { executions: ['b1'], isOpen: false });
    this.start('talk', { executions: ['t1'], starts: 'talk/late' });
    this.memory = 3;
  }

  start(runId: string, run: Partial<FakeRun> & { executions: string[] }): void {
    this.runs.set(runId, { isOpen: true, unlisted: 0, ...run });
    this.content.add(runId);
  }

  get isEmpty(): boolean {
    return this.runs.size === 0 && this.content.size === 0 && this.memory === 0;
  }

  get ports(): ForgetPorts {
    return {
      runs: () => this.#call('runs', () => this.#list()),
      end: (runIds) => this.#call('end', () => runIds.forEach((runId) => this.#end(runId))),
      forgetMemory: () =>
        this.#call('forgetMemory', () => {
          const removed = this.memory;
          this.memory = 0;
          return removed;
        }),
      removeContent: (runId) =>
        this.#call(`removeContent ${runId}`, () => {
          assert.notEqual(this.runs.get(runId)?.isOpen, true);
          this.content.delete(runId);
        }),
      removeExecutions: (runId) =>
        this.#call(`removeExecutions ${runId}`, () => {
          // The list of the server says what is left to do: content goes first.
          assert.deepEqual([this.content.has(runId), this.memory], [false, 0]);
          const run = this.runs.get(runId);
          if (run !== undefined) run.removedAfter ??= 1;
          return run?.executions ?? [];
        }),
      pause: () => this.#call('pause', () => undefined),
    };
  }

  async #call<Value>(name: string, work: () => Value): Promise<Value> {
    const number = this.calls.push(name);
    if (this.crash?.at === number && !this.crash.isAfter) throw new Error('killed');
    const value = work();
    if (this.crash?.at === number) throw new Error('killed');
    return value;
  }

  #list(): string[] {
    for (const [runId, run] of this.runs) {
      if (run.removedAfter === 0) this.runs.delete(runId);
      else if (run.removedAfter !== undefined) run.removedAfter -= 1;
    }
    return [...this.runs].filter(([, run]) => run.unlisted-- <= 0).map(([runId]) => runId);
  }

  #end(runId: string): void {
    const run = this.runs.get(runId);
    if (run === undefined || !run.isOpen) return;
    run.isOpen = false;
    if (run.starts !== undefined) this.start(run.starts, { executions: ['l1'] });
  }
}

describe('forgetting a user', () => {
  it('ends runs before it removes anything, and executions last', async () => {
    const world = new World();
    expect(await forgetUser(world.ports)).toEqual({
      runs: ['a', 'a/child', 'b', 'talk', 'talk/late'],
      executions: 6,
      memoryEntries: 3,
    });
    expect(world.isEmpty).toBe(true);
    const firstRemoval = world.calls.findIndex((call) => call.startsWith('remove') || call === 'forgetMemory');
    expect(world.calls.slice(0, firstRemoval)).toEqual(['runs', 'end', 'runs', 'pause', 'runs', 'end', 'runs']);
    expect(world.calls.slice(firstRemoval, firstRemoval + 3)).toEqual([
      'forgetMemory',
      'removeContent talk/late',
      'removeExecutions talk/late',
    ]);
  });

  it('removes the memory of a user without runs', async () => {
    const world = new World();
    world.runs.clear();
    world.content.clear();
    expect(await forgetUser(world.ports)).toEqual({ runs: [], executions: 0, memoryEntries: 3 });
    expect(await forgetUser(world.ports)).toEqual({ runs: [], executions: 0, memoryEntries: 0 });
  });

  it('finds a run that the server lists late', async () => {
    const world = new World();
    world.start('late', { executions: ['l'], unlisted: 1 });
    expect((await forgetUser(world.ports)).runs).toContain('late');
    expect(world.isEmpty).toBe(true);
  });

  it('removes what a call that outlived its run has written, as long as the server has the run', async () => {
    const world = new World();
    const { ports } = world;
    let isWritten = false;
    const written: ForgetPorts = {
      ...ports,
      pause: async () => {
        await ports.pause();
        if (isWritten || world.runs.get('a')?.removedAfter === undefined) return;
        isWritten = true;
        world.content.add('a');
        world.memory += 1;
      },
    };
    expect(await forgetUser(written)).toMatchObject({ memoryEntries: 4 });
    expect([isWritten, world.isEmpty]).toEqual([true, true]);
  });

  it('goes on after a crash at any point, and leaves nothing', async () => {
    const whole = new World();
    await forgetUser(whole.ports);
    for (let at = 1; at <= whole.calls.length; at += 1) {
      for (const isAfter of [false, true]) {
        const world = new World();
        world.crash = { at, isAfter };
        await expect(forgetUser(world.ports)).rejects.toThrow('killed');
        world.crash = undefined;
        await forgetUser(world.ports);
        expect([at, isAfter, world.isEmpty]).toEqual([at, isAfter, true]);
      }
    }
    expect(whole.calls.length).toBeGreaterThan(20);
  });
});
