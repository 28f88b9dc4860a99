import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

test('redisGovernor() says how to install the package "redis" if it is missing', async () => {
  const module = fileURLToPath(new URL('../../src/governor/governor.ts', import.meta.url));
  const script = `
    import { registerHooks } from 'node:module';
    registerHooks({ resolve: (name, context, next) => {
      if (name !== 'redis') return next(name, context);
      throw Object.assign(new Error("Cannot find package 'redis'"), { code: 'ERR_MODULE_NOT_FOUND' });
    } });
    const { redisGovernor } = await import(${JSON.stringify(module)});
    try { redisGovernor({ url: 'redis://127.0.0.1:1' }) } catch (error) { console.log(error.name + ': ' + error.message) }
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  expect(stdout.trim()).toBe('UsageError: redisGovernor needs the package "redis", which is not installed: run "npm install redis"');
});
