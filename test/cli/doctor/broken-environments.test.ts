import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { REDIS_MISSING, redisProgram } from '../../streams/redis-server.ts';
import { BROKEN } from './broken-environments.ts';
import { afterCommand, Environment, troubles } from './environment.ts';

test('a healthy installation has no failed check and no warning', async () => {
  await using environment = await Environment.open();
  await environment.agents(
    "export const agents = [defineAgent({ name: 'clerk', model: 'scripted/m' })];\nexport const providers = { scripted: scriptedModel([say('ok')]) };",
  );
  const report = await environment.examine();
  expect(troubles(report)).toEqual({});
  expect(report).toMatchObject({ version: 1, ok: true, fixed: [] });
});

test('there are at least 30 broken environments, and each check has one that it finds', async () => {
  expect(BROKEN.length).toBeGreaterThanOrEqual(30);
  expect(new Set(BROKEN.map(({ name }) => name)).size).toBe(BROKEN.length);
  await using environment = await Environment.open();
  const { checks } = await environment.examine();
  expect(checks.map(({ name }) => name).filter((name) => BROKEN.every(({ check }) => check !== name))).toEqual([]);
});

const CASES = BROKEN.map((one) => ({
  ...one,
  missing: one.needs?.redis && redisProgram === undefined ? REDIS_MISSING : '',
}));

test.for(CASES)(
  '$name: the check "$check" says so, and no other$missing',
  async ({ missing, check, status = 'fail', names, server, break: breakIt, repair }, { skip }) => {
    skip(missing !== '', missing);
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
    // What `--fix` has done is named, and its counterpart brings the same trouble back.
    for (const { done, undo } of after.fixed) {
      expect(done).toMatch(/./);
      if (undo.startsWith('temporal ')) continue;
      await rm(join(environment.folder, 'above', 'lost'), { recursive: true });
      await mkdir(join(environment.folder, 'above', 'lost'));
      afterCommand(undo, environment);
      expect(troubles(await environment.examine())).toEqual({ [check]: status });
    }
  },
);
