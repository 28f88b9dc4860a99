import { afterEach, expect, test, vi } from 'vitest';
import { COMMAND_GROUPS } from '../../../src/cli/all-commands.ts';
import { pointBeforeNow } from '../../../src/cli/options.ts';
import { callCli } from '../call-cli.ts';

afterEach(() => void vi.useRealTimers());

test('help goes to stdout, names every command, and has the exit codes', async () => {
  const { exitCode, stdout, stderr } = await callCli(['--help']);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  const talking = ['approvals', 'approve', 'reject', 'respond', 'revoke', 'send', 'pause', 'resume', 'raise', 'cancel', 'retry'];
  for (const command of [
    'dev',
    'worker',
    'serve',
    'start',
    'check',
    'run',
    'trace',
    'show',
    'events',
    'result',
    'list',
    'codec-server',
    'chat',
    'sessions',
    'session',
    ...talking,
  ]) {
    expect(stdout).toMatch(new RegExp(`^  ${command} `, 'm'));
  }
  expect(stdout).toContain('7    no Temporal server answers');
});

test('the help of a command shows the global options too', async () => {
  const { stdout } = await callCli(['start', '--help']);
  expect(stdout).toContain('--if-exists');
  expect(stdout).toContain('--task-queue');
});

test('the help of each command fits the terminal, and no line of it is broken by hand', async () => {
  for (const { declaration } of COMMAND_GROUPS.flatMap(({ commands }) => commands)) {
    const { stdout } = await callCli([...declaration.name.split(' '), '--help']);
    expect([declaration.name, declaration.description.includes('\n')]).toEqual([declaration.name, false]);
    expect([declaration.name, ...stdout.split('\n').filter((line) => line.length > 80)]).toEqual([declaration.name]);
  }
});

test('the author of a decision, a raise or a cancellation is the system user by default, and the help says so', async () => {
  for (const command of ['approve', 'reject', 'respond', 'raise', 'cancel']) {
    const help = (await callCli([command, '--help'])).stdout.replace(/\s+/g, ' ');
    expect(help).toMatch(/--by <name> who [a-z ]+ \(default: the name of the OS user\)/);
  }
});

test('a call without a command is a usage error that shows the help', async () => {
  const { exitCode, stdout, stderr } = await callCli([]);
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toContain('Usage: longhaul');
});

test("the version is the package's version", async () => {
  expect((await callCli(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test.each([
  [['nope'], 'unknown command "nope"'],
  [['start'], 'missing required argument "agent"'],
  [['start', 'clerk', 'hi', '--tempo'], 'unknown option "--tempo"'],
  [['start', 'clerk'], 'There is no input'],
  [['start', 'clerk', 'hi', '--input-json', '"hi"'], 'There are two inputs'],
  [['start', 'clerk', '--input-json', '{'], 'That is not JSON'],
  [['start', 'clerk', '--messages-json', '['], 'That is not JSON'],
  [['start', 'clerk', 'hi', '--deps', '[1]'], 'Write a JSON object'],
  [['resum', 'r'], 'unknown command "resum"\n(Did you mean resume?)'],
  [['show', 'r', 's'], 'too many arguments for "show". Expected 1 argument but got 2: r, s.'],
  [['start', 'clerk', 'hi', '--steps', '0'], '"0" is not valid for --steps <number>. Write a whole number of at least 1.'],
  [['start', 'clerk', 'hi', '--deadline', "'"], '"\'" is not valid for --deadline <time>. Write a time with its unit'],
  [['start', 'clerk', 'hi', '--if-exists', 'replace'], 'Allowed choices are fail, return, restartFailed'],
  [['start', 'clerk', 'hi', '--if-exists', 'refuse'], 'Allowed choices are fail, return, restartFailed'],
  [['start', 'clerk', 'hi', '--wait-timeout', '0'], 'Write a number of seconds above 0'],
  [['result', 'r', '--steps'], 'unknown option "--steps"'],
  [['result', 'r', '--wait-timeout', 'soon'], 'Write a number of seconds'],
  [['result', 'r', '--wait-timeout', '25d'], 'Write a time of at most 24 days'],
  [['worker', '--agents', 'a.ts', '--log-level', 'loud'], 'Allowed choices are trace, debug, info, warn, error, off'],
  [['result', 'r', '--wait-timeout', '9e9'], 'Write a number of seconds'],
  [['events', 'r', '--from', '-1'], 'Write a whole number of at least 0'],
  [['list', '--status', 'done'], 'Allowed choices are completed'],
  [['list', '--limit', 'all'], 'Write a whole number of at least 1'],
  [['list', '--since', 'yesterday'], 'Write a time before now with its unit, such as 30m, 2h or 1d, or a date'],
  [['list', '--since', '7'], 'Write a time before now with its unit'],
  [['list', '--since', '2026-13-01'], 'Write a time before now with its unit'],
  [['sessions', '--since', '99999999999d'], 'Write a time before now with its unit'],
  [['start', 'clerk', 'hi', '--tool-calls-of', 'refund'], 'Write a name and a whole number, such as refund=2'],
  [['start', 'clerk', 'hi', '--cost', '0'], 'Write an amount above 0'],
  [['start', 'clerk', 'hi', '--deadline', '90'], 'Write a time with its unit, such as 30m, 2h or 1d'],
  [['retry', 'r', '--from-step', '0'], 'Write a whole number of at least 1'],
  [['raise', 'r'], 'There is no limit to raise: write npx longhaul raise "r" --steps 20'],
  [['raise', 'r', '--steps', '1.5'], 'Write a whole number of at least 1'],
  [['approve'], 'missing required argument "run"'],
  [['forget'], 'There is no user: write --user, and --tenant if the user has one'],
  [['forget', '--tenant', 'acme'], 'There is no user'],
  [['forget', '--user', 'ada', '--archive', './nowhere'], '--archive names "./nowhere", which does not exist'],
  [['forget', '--user', 'ada', '--memory', './nowhere.db'], '--memory names "./nowhere.db", which does not exist'],
  [['memory', 'list'], 'required option "--memory <file>" not specified'],
  [['memory', 'list', '--memory', './nowhere.db', '--agent', 'clerk'], '--memory names "./nowhere.db", which does not exist'],
  [['memory', 'list', '--memory', 'package.json'], 'Whose entries? Write --agent <name>'],
  [['memory', 'list', '--memory', 'package.json', '--agent', 'a', '--scope', 'b'], 'An agent has no scopes'],
  [['memory', 'forget', '--memory', 'package.json'], 'Whose entries? Write --user'],
  [['memory', 'forget', '--memory', 'package.json', '--user', 'ada', '--key', 'k'], 'A key belongs to a memory'],
  [['session', 'raise', 's', '--turns', '0'], 'Write a whole number of at least 1, or "none".'],
  [
    ['keys', 'create', '--name', 'ci', '--scope', 'all'],
    'Allowed choices are chats:read, chats:write, runs:read, runs:write, approvals:decide, admin',
  ],
  [['session', 'load', 's', 'a.json'], 'required option "--agent <name>" not specified'],
  [['session', 'load', 's', '--agent', 'clerk'], 'missing required argument "file"'],
  [['session', 'load', 's', './nowhere.json', '--agent', 'clerk'], 'The saved context "./nowhere.json" does not exist'],
  [['approve', 'r', '--arguments', '3'], 'Write a JSON object'],
  [['approve', 'r', '--remember', 'ever'], 'Allowed choices are tool, arguments'],
  [['respond', 'r'], 'There is no answer: write npx longhaul respond "r" --text'],
  [['respond', 'r', '--text', 'a', '--value', 'null'], 'There are two answers'],
  [['respond', 'r', '--value', 'green'], 'That is not JSON'],
  [['send', 'r', 'hi', '--mode', 'now'], 'Allowed choices are queue, steer, interrupt'],
  [['send', 'r'], 'missing required argument "text"'],
  [['approvals', 'r', '--agent', 'clerk'], 'leave it out if you name a run'],
  [['revoke', 'r'], 'missing required argument "decision"'],
  [['worker'], 'required option "-a, --agents <module>" not specified'],
  [['dev', '--ui-port', '70000'], 'Write a port from 1 to 65535'],
  [['dev', '--http-port', '8787'], '--http-port configures a worker, and there is no worker without agents'],
  [['dev', '--http-port', '8787', '--no-http'], '--no-http means no HTTP service'],
  [['check'], 'missing required argument "file"'],
  [['check', './nowhere/program.json'], 'The program "./nowhere/program.json" does not exist'],
  [['check', './nowhere/program.ts'], 'does not exist'],
  [['check', 'test/cli/fixtures/scripted-agents.ts'], 'exports no programs'],
  [['run'], 'missing required argument "program"'],
  [['run', 'triage', '--input-json', '[1]'], 'Write a JSON object'],
  [['run', 'triage', '--input-json', '{}', '--input-file', 'a.json'], 'There are two inputs'],
  [['run', 'triage', '--input-file', './nowhere/input.json'], 'The input "./nowhere/input.json" does not exist'],
  [['run', 'triage', '--from', 'sort.Kind'], '--from is a step of an earlier run: add --resume <run>'],
  [['trace'], 'missing required argument "run"'],
  [['run', 'triage', '--program', 'other'], '"triage" is the name of a program: leave it out'],
  [['run', '-', '--input-file', '-'], 'Both the program and the input are to be read from stdin'],
  [['run', 'test/cli/fixtures/two-programs.ts'], 'has several programs ("sort", "reply"): choose one with --program <name>'],
  [['run', 'test/cli/fixtures/two-programs.ts', '--program', 'srt'], 'has no program "srt" (it has: "sort", "reply")'],
  [['dev', '--namespace', 'other'], 'has the namespace "default" only'],
  [['dev', '--memory', '--db', 'runs.db'], '--memory keeps no runs, and --db names the file that does'],
  [
    ['dev', '--memory', '--address', '127.0.0.1:1'],
    '--memory is about a server that dev starts, and --address names one that runs already',
  ],
])('longhaul %j is a usage error', async (args, message) => {
  const { exitCode, stdout, stderr } = await callCli(args);
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toContain(message);
  expect(stderr).toMatch(/^longhaul: /);
  expect(stderr).not.toContain('    at ');
});

test.each([
  ['2h', '2026-11-26T20:00:00.000Z'],
  ['1.5d', '2026-11-25T10:00:00.000Z'],
  ['2026-11-01', '2026-11-01T00:00:00.000Z'],
  ['2026-11-26T22:00Z', '2026-11-26T22:00:00.000Z'],
  ['2026-11-26T22:00+02:00', '2026-11-26T20:00:00.000Z'],
])('at 22:00, --since %s means %s', (text, time) => {
  vi.useFakeTimers({ now: Date.parse('2026-11-26T22:00:00Z'), toFake: ['Date'] });
  expect(pointBeforeNow(text)).toBe(time);
});
