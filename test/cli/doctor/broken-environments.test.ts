import { expect, test } from 'vitest';
import { BROKEN } from './broken-environments.ts';
import { Environment, troubles } from './environment.ts';

test('a healthy installation has no failed check and no warning', async () => {
  await using environment = await Environment.open();
  await environment.agents(
    "export const agents = [defineAgent({ name: 'clerk', model: 'scripted/m' })];\nexport const providers = { scripted: scriptedModel([say('ok')]) };",
  );
  const report = await environment.examine();
  expect(troubles(report)).toEqual({});
  expect(report).toMatchObject({ version: 1, ok: true, fixed: [] });
});

test('there are at least 30 broken environments, and they break most of the checks', () => {
  expect(BROKEN.length).toBeGreaterThanOrEqual(30);
  expect(new Set(BROKEN.map(({ name }) => name)).size).toBe(BROKEN.length);
});

test.each(BROKEN)(
  '$name: the check "$check" says so, and no other',
  async ({ check, status = 'fail', names, server, break: breakIt, repair }) => {
    await using environment = await Environment.open(server);
    await breakIt?.(environment);
    const report = await environment.examine();
    expect(troubles(report)).toEqual({ [check]: status });
    const found = report.checks.find(({ name }) => name === check);
    expect(found?.command).toMatch(/./);
    expect(`${found?.summary}\n${found?.command}`).toMatch(names);

    if (repair === undefined) return;
    if (repair !== 'fix') await repair(found?.command ?? '', environment);
    const after = await environment.examine({ fix: repair === 'fix' });
    expect(after.checks.filter(({ name, status: now }) => name === check && now === status)).toEqual([]);
    expect(after.fixed).toHaveLength(repair === 'fix' ? 1 : 0);
    for (const { done, undo } of after.fixed) expect([done, undo]).toEqual([expect.stringMatching(/./), expect.stringMatching(/./)]);
  },
);
