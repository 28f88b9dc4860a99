import { describe, expect, it, test } from 'vitest';
import { liveService, LiveText } from '../../../src/cli/render/live.ts';

function live(): { text: LiveText; written: () => string } {
  let written = '';
  return { text: new LiveText((piece) => (written += piece)), written: () => written };
}

describe('text on a terminal', () => {
  it('is written as it comes, and ends with the rest of its event', () => {
    const { text, written } = live();
    for (const piece of ['The ', 'Mo', 'on']) text.add('e1', piece);
    expect(written()).toBe('The Moon');
    expect(text.settle('e1', 'The Moon is far.')).toBe(true);
    expect(written()).toBe('The Moon is far.\n');
  });

  it.each([
    ['was recorded otherwise', 'The Sun'],
    ['was not recorded', ''],
  ])('is left to the caller if it %s', (_, recorded) => {
    const { text, written } = live();
    text.add('e1', 'The Moon');
    expect([text.settle('e1', recorded), written()]).toEqual([false, 'The Moon\n']);
  });

  it('of an event that nothing was written of is left to the caller, and what comes late of it is left out', () => {
    const { text, written } = live();
    expect(text.settle('e1', 'The Moon')).toBe(false);
    text.add('e1', 'The Moon');
    expect(written()).toBe('');
  });

  it('of the next response waits until the text of the previous one is shown', () => {
    const { text, written } = live();
    text.add('e1', 'One');
    text.add('e2', 'Tw');
    text.add('e2', 'o');
    expect(written()).toBe('One');
    expect(text.settle('e1', 'One')).toBe(true);
    expect(written()).toBe('One\n');
    text.goOn();
    expect(written()).toBe('One\nTwo');
    expect(text.settle('e2', 'Two')).toBe(true);
  });

  it('that another attempt discards ends with a note about it', () => {
    const { text, written } = live();
    text.add('e1', 'One');
    text.reset();
    text.add('e2', 'Two');
    expect(written()).toBe('One … (the answer begins again)\nTwo');
    text.reset();
    text.reset();
    expect(written()).toBe('One … (the answer begins again)\nTwo … (the answer begins again)\n');
  });

  it('has no control characters', () => {
    const { text, written } = live();
    text.add('e1', 'a\u001b[2Jb\rc');
    text.settle('e1', 'a\u001b[2Jb\rc\u0007');
    for (const character of ['\u001b', '\u0007', '\r']) expect(written()).not.toContain(character);
  });
});

test.each([
  ['a server on this machine', {}, '127.0.0.1:7233', { url: 'http://127.0.0.1:8787' }],
  ['the same by its name', {}, 'localhost:7233', { url: 'http://127.0.0.1:8787' }],
  ['a server elsewhere', {}, 'temporal.acme.example:7233', undefined],
  ['a name that begins like this machine', {}, 'localhost.acme.example:7233', undefined],
  ['a service that is named', { LONGHAUL_SERVICE: 'https://acme.example/api/' }, 'x:1', { url: 'https://acme.example/api' }],
  [
    'a service with credentials',
    { LONGHAUL_SERVICE: 'https://acme.example', LONGHAUL_SERVICE_TOKEN: 'k' },
    'x:1',
    { url: 'https://acme.example', token: 'k' },
  ],
  ['credentials without a service', { LONGHAUL_SERVICE_TOKEN: 'k' }, 'localhost:7233', { url: 'http://127.0.0.1:8787' }],
  ['none', { LONGHAUL_SERVICE: 'none' }, 'localhost:7233', undefined],
])('the service for %s', (_, env, address, service) => {
  expect(liveService(env, address)).toEqual(service);
});
