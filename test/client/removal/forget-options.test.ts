import { describe, expect, it } from 'vitest';
import { fileArchive } from '../../../src/stores/file-archive.ts';
import { forgottenUser, missingStores } from '../../../src/client/forget-options.ts';
import { inMemory } from '../../../src/memory/file-memory.ts';
import { fileStore } from '../../../src/stores/payload-store.ts';

describe('the user to forget', () => {
  it('is the one that is named, or the one that the client acts for', () => {
    expect(forgottenUser(undefined, { user: 'ada' })).toEqual({ user: 'ada' });
    expect(forgottenUser(undefined, { user: 'ada', tenant: 'acme', timeout: 5 })).toEqual({ user: 'ada', tenant: 'acme' });
    expect(forgottenUser({ user: 'ada', tenant: 'acme' }, {})).toEqual({ user: 'ada', tenant: 'acme' });
    expect(forgottenUser({ user: 'ada', tenant: 'acme' }, { user: 'ada' })).toEqual({ user: 'ada', tenant: 'acme' });
  });

  it('is refused if it is nobody, another one than the client acts for, or written wrong', () => {
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
