import { expect, test } from 'vitest';
import { cliEnvironment, startFlags } from '../../src/dev-server/start-flags.ts';
import { SEARCH_ATTRIBUTE_TYPES } from '../../src/core/protocol.ts';

test('every server is tuned, and a server with a database file gets the pragmas', () => {
  const inMemory = startFlags({ port: 7000 }).join(' ');
  expect(inMemory).toContain('--port=7000');
  expect(inMemory).toContain('--headless');
  expect(inMemory).toContain('--dynamic-config-value=history.transferProcessorMaxPollRPS=5000');
  expect(inMemory).toContain('--dynamic-config-value=system.enableActivityEagerExecution=true');
  expect(inMemory).not.toContain('--sqlite-pragma');
  expect(inMemory).not.toContain('--search-attribute');

  const onDisk = startFlags({ port: 7000, dbFile: 'runs.sqlite' }).join(' ');
  expect(onDisk).toContain(
    '--db-filename=runs.sqlite --sqlite-pragma=journal_mode=WAL --sqlite-pragma=synchronous=NORMAL --sqlite-pragma=secure_delete=ON',
  );
});

test('the UI and the search attributes are flags if they are requested', () => {
  const flags = startFlags({ port: 7000, uiPort: 8000, searchAttributes: SEARCH_ATTRIBUTE_TYPES }).join(' ');
  expect(flags).toContain('--ui-port=8000');
  expect(flags).not.toContain('--headless');
  expect(flags).toContain(
    '--search-attribute=LonghaulAgent=Keyword --search-attribute=LonghaulStatus=Keyword --search-attribute=LonghaulWaitingFor=KeywordList',
  );
});

test('environment variables for another server do not reach the CLI', () => {
  expect(cliEnvironment({ PATH: '/bin', TEMPORAL_ADDRESS: 'elsewhere:7233', TEMPORAL_NAMESPACE: 'team' })).toEqual({ PATH: '/bin' });
});
