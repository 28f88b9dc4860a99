import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  checkAllPermissions,
  type CheckedCall,
  checkPermissions,
  effectivePermissions,
  globCovers,
  isDeniedByName,
  isNarrowing,
  matchesGlob,
  PERMISSION_MODES,
  type PermissionRule,
  type Permissions,
  permissionsProblem,
} from '../../../src/core/domain/permissions.ts';

const glob = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), minLength: 1, maxLength: 5 });
const word = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 5 });
const rule: fc.Arbitrary<PermissionRule> = fc.record(
  {
    tool: glob,
    category: fc.constantFrom('read', 'execute', '*'),
    args: fc.dictionary(fc.constantFrom('x', 'y.*'), glob, { minKeys: 1, maxKeys: 2 }),
  },
  { requiredKeys: ['tool'] },
);
const rules = fc.array(rule, { maxLength: 3 });
const permissions: fc.Arbitrary<Permissions> = fc.record(
  {
    mode: fc.constantFrom(...PERMISSION_MODES),
    deny: rules,
    ask: rules,
    allow: rules,
    approvalRequired: rules,
    allowUnattendedExecute: fc.constant(true as const),
  },
  { requiredKeys: ['mode'] },
);
const call: fc.Arbitrary<CheckedCall> = fc.record(
  { tool: word, category: fc.constantFrom('read', 'execute'), arguments: fc.record({ x: word, y: fc.array(word, { maxLength: 2 }) }) },
  { requiredKeys: ['tool'] },
);

describe('globs', () => {
  it.each([
    ['web_*', 'web_fetch', true],
    ['web_*', 'web', false],
    ['a?c', 'abc', true],
    ['a\\*c', 'abc', false],
    ['a\\*c', 'a*c', true],
    ['*b*', 'abc', true],
    ['*', '', true],
    [`${'x'.repeat(70)}*y`, `${'x'.repeat(75)}zy`, true],
  ])('%s against %s: %s', (pattern, text, expected) => {
    expect(matchesGlob(pattern, text)).toBe(expected);
  });

  it('match the same as a regular expression with the same meaning', () => {
    fc.assert(
      fc.property(glob, word, (pattern, text) => {
        const same = new RegExp(`^${pattern.replaceAll('*', '.*').replaceAll('?', '.')}$`, 'u');
        expect(matchesGlob(pattern, text)).toBe(same.test(text));
      }),
    );
  });

  it('cover another glob only if they match all that it matches', () => {
    fc.assert(
      fc.property(glob, glob, word, (wide, narrow, text) => {
        fc.pre(globCovers(wide, narrow) && matchesGlob(narrow, text));
        expect(matchesGlob(wide, text)).toBe(true);
      }),
    );
  });
});

describe('permissions', () => {
  it('deny before they ask, and name the rule', () => {
    const own: Permissions = { mode: 'permissive', deny: [{ tool: 'shell', args: { command: 'rm *' } }], ask: [{ tool: 'sh*' }] };
    const verdict = checkPermissions(own, { tool: 'shell', arguments: { command: 'rm -r' } });
    expect(verdict.denied).toBe('the rule deny: tool "shell", command "rm *" denies it');
    expect(checkPermissions(own, { tool: 'shell', arguments: { command: 'ls' } })).toEqual({
      asked: 'the rule ask: tool "sh*" asks about it',
    });
    expect(isDeniedByName({ permissions: [own] }, { name: 'shell' })).toBe(false);
  });

  it('deny for one of several values, and allow only for all of them', () => {
    const files = { arguments: { paths: ['/home/a', '/etc/b'] }, tool: 'read' };
    expect(checkPermissions({ mode: 'default', deny: [{ args: { 'paths.*': '/etc/*' } }] }, files).denied).toBeDefined();
    expect(checkPermissions({ mode: 'default', allow: [{ args: { 'paths.*': '/home/*' } }] }, files).denied).toBeDefined();
    expect(checkPermissions({ mode: 'default', allow: [{ args: { 'paths.*': '/*' } }] }, files).denied).toBeUndefined();
  });

  it('do not find a rule of the prototype in arguments', () => {
    expect(checkPermissions({ mode: 'default', deny: [{ args: { constructor: '*' } }] }, { tool: 'a', arguments: {} })).toEqual({});
  });

  it('of a mode that is not known deny and ask', () => {
    const verdict = checkPermissions({ mode: 'other' as 'default' }, { tool: 'a' });
    expect(Object.keys(verdict).toSorted()).toEqual(['asked', 'denied']);
  });

  it('never widen by another ancestor', () => {
    fc.assert(
      fc.property(permissions, fc.array(permissions, { maxLength: 3 }), permissions, call, (own, ancestors, further, one) => {
        const before = checkAllPermissions(effectivePermissions(own, ancestors), one);
        const after = checkAllPermissions(effectivePermissions(own, [...ancestors, further]), one);
        expect([
          before.denied !== undefined && after.denied === undefined,
          before.asked !== undefined && after.asked === undefined,
        ]).toEqual([false, false]);
      }),
    );
  });

  it('that count as narrowing deny and ask at least as much', () => {
    fc.assert(
      fc.property(permissions, permissions, call, (before, after, one) => {
        fc.pre(isNarrowing(before, after));
        const [was, is] = [checkPermissions(before, one), checkPermissions(after, one)];
        expect(was.denied !== undefined && is.denied === undefined).toBe(false);
        expect(was.asked !== undefined && (is.denied ?? is.asked) === undefined).toBe(false);
      }),
    );
  });

  it('are narrower with more denials and questions, or fewer allowances', () => {
    fc.assert(
      fc.property(permissions, rules, rules, (before, deny, ask) => {
        const allow = before.allow?.slice(1);
        const after = { ...before, deny: [...(before.deny ?? []), ...deny], ask: [...(before.ask ?? []), ...ask], ...(allow && { allow }) };
        expect(isNarrowing(before, after)).toBe(true);
      }),
    );
  });

  it('that deny a tool by name deny each call of it', () => {
    fc.assert(
      fc.property(fc.array(permissions, { maxLength: 3 }), call, (layers, one) => {
        fc.pre(isDeniedByName({ permissions: layers }, { name: one.tool, category: one.category }));
        expect(checkAllPermissions(layers, one).denied).toBeDefined();
      }),
    );
  });

  it.each([
    [{ mode: 'strick' }, 'mode: "strick" is not a mode: write one of default, permissive, strict'],
    [{ mode: 'default', deny: [{ tool: 'a\\' }] }, 'deny[0].tool: the glob ends with "\\": write "\\\\" for a backslash'],
    [{ mode: 'default', deny: [{}] }, 'deny[0]: the rule is empty: write {tool: "*"} for all tools'],
    [
      { mode: 'default', ask: [{ category: 'run' }] },
      'ask[0].category: "run" is not a category: write one of read, write, execute, communicate, search, network',
    ],
    [{ mode: 'default', alow: [] }, 'alow: no such field: write one of mode, deny, ask, allow, approvalRequired, allowUnattendedExecute'],
    [{ mode: 'default', ask: [{ args: { 'a..b': 'x' } }] }, 'ask[0].args: "a..b" is not a path: write names with dots between them'],
  ])('%j are refused with the path', (value, problem) => {
    expect(permissionsProblem(value)).toBe(problem);
  });
});
