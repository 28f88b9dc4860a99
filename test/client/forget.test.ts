import assert from 'node:assert/strict';
import { describe, expect, it, test } from 'vitest';
import { type ForgetPorts, forgetUser } from '../../src/client/forget.ts';
import { fileArchive } from '../../src/stores/file-archive.ts';
import { forgottenUser, missingStores } from '../../src/client/forget-options.ts';
import { inMemory } from '../../src/memory/file-memory.ts';
import { fileStore } from '../../src/stores/payload-store.ts';
import { runIdsBelow, type TreePlace } from '../../src/client/delete-run.ts';

/** A run in the fake world. */
interface FakeRun {
  isOpen: boolean;
  executions: string[];
  /** The number of lists that lack the run, because the server lists with a delay. */
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
  /** The runs of the user that the archive has. */
  readonly archived = new Set<string>();
  /** The ids that a run of another user has too. */
  readonly shared = new Set<string>();
  readonly calls: string[] = [];
  memory = 0;
  /** The number of the call where the forgetting process is killed, before or after its effect. */
  crash: { at: number; isAfter: boolean } | undefined;

  constructor() {
    this.start('a', { executions: ['a1', 'a2'] });
    this.start('a/child', { executions: ['c1'] });
    this.start('b', { executions: ['b1'], isOpen: false });
    this.start('talk', { executions: ['t1'], starts: 'talk/late' });
    // The server has removed it: only the archive leads to it.
    this.content.add('past');
    this.archived.add('past');
    this.memory = 3;
  }

  start(runId: string, run: Partial<FakeRun> & { executions: string[] }): void {
    this.runs.set(runId, { isOpen: true, unlisted: 0, ...run });
    this.content.add(runId);
  }

  get isEmpty(): boolean {
    return this.runs.size === 0 && this.content.size === this.shared.size && this.memory === 0;
  }

  get ports(): ForgetPorts {
    return {
      runs: () => this.#call('runs', () => this.#list()),
      archivedRuns: () => this.#call('archivedRuns', () => [...this.archived]),
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
          if (this.shared.has(runId)) return false;
          this.content.delete(runId);
          this.archived.delete(runId);
          return true;
        }),
      removeExecutions: (runId) =>
        this.#call(`removeExecutions ${runId}`, () => {
          // The server's list shows what is left to do: content is removed first.
          const isLeft = this.content.has(runId) && !this.shared.has(runId) && !this.archived.has(runId);
          assert.deepEqual([isLeft, this.memory], [false, 0]);
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
      runs: ['a', 'a/child', 'b', 'past', 'talk', 'talk/late'],
      executions: 6,
      memoryEntries: 3,
      kept: [],
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
    world.archived.clear();
    expect(await forgetUser(world.ports)).toEqual({ runs: [], executions: 0, memoryEntries: 3, kept: [] });
    expect(await forgetUser(world.ports)).toEqual({ runs: [], executions: 0, memoryEntries: 0, kept: [] });
  });

  it('removes the content that the archive leads to, also if no run is left on the server, and the archive after the executions', async () => {
    const world = new World();
    world.runs.clear();
    world.content.clear();
    world.content.add('past');
    expect(await forgetUser(world.ports)).toMatchObject({ runs: ['past'], executions: 0 });
    expect(world.isEmpty).toBe(true);
    // A run that no list shows, as one without search attributes.
    world.start('unlisted', { executions: ['u1'], isOpen: false, unlisted: Infinity });
    world.archived.add('unlisted');
    expect(await forgetUser(world.ports)).toMatchObject({ runs: ['unlisted'], executions: 1 });
    const removals = world.calls.filter((call) => call.endsWith('unlisted'));
    expect(removals.slice(0, 2)).toEqual(['removeExecutions unlisted', 'removeContent unlisted']);
  });

  it('keeps content that also belongs to another principal, reports it, and finishes', async () => {
    const world = new World();
    for (const runId of ['b', 'past']) world.shared.add(runId);
    const forgotten = await forgetUser(world.ports);
    expect(forgotten).toMatchObject({ kept: ['b', 'past'], executions: 6 });
    expect(forgotten.runs).toEqual(['a', 'a/child', 'b', 'talk', 'talk/late']);
    expect([...world.content].toSorted()).toEqual(['b', 'past']);
  });

  it('finds a run that the server lists late', async () => {
    const world = new World();
    world.start('late', { executions: ['l'], unlisted: 1 });
    expect((await forgetUser(world.ports)).runs).toContain('late');
    expect(world.isEmpty).toBe(true);
  });

  it('removes the content that a call wrote after its run had ended, as long as the server has the run', async () => {
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

  it('continues after a crash at any point, and leaves nothing', async () => {
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

describe('the user to forget', () => {
  it('is the named user, or the user that the client acts for', () => {
    expect(forgottenUser(undefined, { user: 'ada' })).toEqual({ user: 'ada' });
    expect(forgottenUser(undefined, { user: 'ada', tenant: 'acme', timeout: 5 })).toEqual({ user: 'ada', tenant: 'acme' });
    expect(forgottenUser({ user: 'ada', tenant: 'acme' }, {})).toEqual({ user: 'ada', tenant: 'acme' });
    expect(forgottenUser({ user: 'ada', tenant: 'acme' }, { user: 'ada' })).toEqual({ user: 'ada', tenant: 'acme' });
  });

  it("is refused if it is missing, is not the client's principal, or is malformed", () => {
    expect(() => forgottenUser(undefined, {})).toThrow('needs a "user"');
    expect(() => forgottenUser({ tenant: 'acme' }, {})).toThrow('needs a "user"');
    expect(() => forgottenUser(undefined, { user: '' })).toThrow('"user"');
    expect(() => forgottenUser({ user: 'ada' }, { user: 'eve' })).toThrow('another user');
    expect(() => forgottenUser({ user: 'ada' }, { tenant: 'acme' })).toThrow('another user');
    expect(() => forgottenUser(undefined, { users: 'ada' } as never)).toThrow('users');
  });
});

describe('the stores of a user to forget', () => {
  const stores = {
    payloadStore: fileStore({ directory: 'spilled' }),
    archive: fileArchive({ directory: 'archive' }),
    memory: inMemory(),
    streams: { removeRun: async () => undefined },
  };

  it('are all given, or said to be missing', () => {
    expect(missingStores(stores, undefined)).toEqual([]);
    expect(missingStores({ memory: stores.memory, streams: stores.streams }, ['archive', 'payloadStore'])).toEqual([
      'payloadStore',
      'archive',
    ]);
    const all = ['payloadStore', 'archive', 'memory', 'streams'] as const;
    expect(missingStores({}, all.toReversed())).toEqual(all);
  });

  it('are refused if one is neither, both, or unknown', () => {
    expect(() => missingStores({ memory: stores.memory }, ['archive'])).toThrow('the client has no "payloadStore"');
    expect(() => missingStores({}, [])).toThrow('"without": ["payloadStore","archive","memory","streams"]');
    expect(() => missingStores(stores, ['memory'])).toThrow('"memory", which the client has');
    expect(() => missingStores(stores, ['disk' as never])).toThrow('names "disk"');
  });

  it('are refused if the archive cannot list the runs of a user', () => {
    const { runsOf: _, ...old } = stores.archive;
    expect(() => missingStores({ ...stores, archive: old as never }, undefined)).toThrow('no "runsOf"');
  });
});

const places = (entries: Record<string, TreePlace>): Map<string, TreePlace> => new Map(Object.entries(entries));

test('the descendants of a run are found through parents, the deepest first', () => {
  const tree = places({
    'r/a.1': { parent: 'r', root: 'r' },
    'r/a.1/b.2': { parent: 'r/a.1', root: 'r' },
    'r/started-by-a-client': { root: 'r/started-by-a-client' },
    'r/of-another/c': { parent: 'elsewhere', root: 'elsewhere' },
  });
  expect(runIdsBelow('r', tree, 'r')).toEqual(['r/a.1/b.2', 'r/a.1']);
});

test('a descendant of a removed run is found by its tree', () => {
  const tree = places({ 'r/a.1/b.2': { parent: 'r/a.1', root: 'r' }, 'r/a.1/b.2/c.3': { parent: 'r/a.1/b.2', root: 'r' } });
  expect(runIdsBelow('r', tree, 'r')).toEqual(['r/a.1/b.2/c.3', 'r/a.1/b.2']);
  expect(runIdsBelow('r', tree)).toEqual(['r/a.1/b.2/c.3', 'r/a.1/b.2']);
  const inside = places({ 'r/a.1/b.2/c.3': { parent: 'r/a.1/b.2', root: 'r' } });
  expect(runIdsBelow('r/a.1', inside, 'r')).toEqual(['r/a.1/b.2/c.3']);
});

test('a run of another tree, and a run that another workflow of the tree has started, are not descendants', () => {
  const tree = places({
    'r/x/y': { parent: 'r/x', root: 'other' },
    'r/z': { parent: 'host', root: 'host' },
    'r/old': { parent: 'r/x' },
  });
  expect(runIdsBelow('r', tree, 'host')).toEqual([]);
});
