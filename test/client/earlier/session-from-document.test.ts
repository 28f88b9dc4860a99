import { describe, expect, test } from 'vitest';
import { readSaved, withEarlier } from '../../../src/client/saved-context.ts';
import { toSavedContext } from '../../../src/core/saved/saved-context.ts';

const SAVED = toSavedContext({
  messages: [{ role: 'user', content: 'Where is order 42?' }],
  deps: { user: 'ada', cart: ['tea'] },
  agent_name: 'clerk',
  max_iterations: 7,
});

describe('a session that begins from a document', () => {
  test('has its conversation and its deps, and not its limit of steps', () => {
    const options = { saved: SAVED, deps: { cart: [] } };
    const begun = withEarlier(options, readSaved(options, 'clerk'));
    expect(begun.messages).toEqual([{ type: 'message', role: 'user', content: 'Where is order 42?' }]);
    expect(begun.deps).toEqual({ user: 'ada', cart: [] });
    expect(begun).not.toHaveProperty('limits');
  });

  test('notices another agent', () => {
    expect(readSaved({ saved: SAVED }, 'baker')?.notices).toEqual(['The saved context is from agent "clerk": agent "baker" continues it']);
  });

  test('is refused with messages beside the document', () => {
    const start = (): unknown => readSaved({ saved: SAVED, messages: [] }, 'clerk');
    expect(start).toThrow('the session has several conversations, "messages" and "saved": give one of them');
  });

  test('is one with its own options if there is no document', () => {
    const options = { messages: [], deps: { user: 'bob' } };
    expect(withEarlier(options, readSaved(options, 'clerk'))).toEqual(options);
  });
});
