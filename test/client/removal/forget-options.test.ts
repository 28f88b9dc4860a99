import { describe, expect, it } from 'vitest';
import { forgottenUser } from '../../../src/client/removal/forget-options.ts';

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
