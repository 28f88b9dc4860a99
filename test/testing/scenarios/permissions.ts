import { z } from 'zod';
import { type AnyAgent, defineTool, type PermissionOptions, quickjs, type ToolCategory } from '../../../src/index.ts';
import { approve, callTool, reject, say, setPermissions, together } from '../../../src/testing/index.ts';
import { agentWith, scenario } from './scenario.ts';

function fileTool(name: string, category?: ToolCategory): ReturnType<typeof defineTool> {
  return defineTool({
    name,
    description: `The tool ${name}`,
    parameters: z.object({ path: z.string() }),
    ...(category === undefined ? {} : { category }),
    execute: ({ path }: { path: string }) => `${name} ${path}`,
  }) as never;
}

const refund = defineTool({
  name: 'refund',
  description: 'Pays back',
  parameters: z.object({ amount: z.number() }),
  approval: 'always',
  execute: ({ amount }) => `refunded ${amount}`,
});

function agent(permissions: PermissionOptions, options: object = {}): AnyAgent {
  return agentWith([fileTool('read', 'read'), fileTool('write', 'write'), fileTool('shell', 'execute'), refund], {
    permissions,
    ...options,
  });
}

const read = callTool('read', { path: '/home/a' });
const readKeys = callTool('read', { path: '/etc/keys' });
const write = callTool('write', { path: '/home/a' });
const shell = callTool('shell', { path: 'ls' });

/** Calls that permissions deny, and calls about which they ask. */
export const PERMISSIONS = [
  scenario(
    'a call that a rule for arguments denies gives an error, next to a call that runs',
    agent({ deny: [{ tool: 'read', args: { path: '/etc/*' } }] }),
    {
      script: [together(read, readKeys), say('Done.')],
      timeline: [
        /calls read/,
        /calls read/,
        'read: read /home/a',
        /^read failed: .*the rule deny: tool "read", path "\/etc\/\*" denies it/,
        'agent: Done.',
      ],
    },
  ),
  scenario('a call of a tool that is denied by name gives an error', agent({ deny: ['sh*'] }), {
    script: [shell, say('Done.')],
    timeline: [/calls shell/, /^shell failed: .*deny: tool "sh\*" denies it/, 'agent: Done.'],
  }),
  scenario('a list of allowances denies all else', agent({ mode: 'permissive', allow: [{ category: 'read' }] }), {
    script: [write, read, say('Done.')],
    timeline: [/calls write/, /^write failed: .*no rule of "allow" allows it/, /calls read/, 'read: read /home/a', 'agent: Done.'],
  }),
  scenario('a rule asks about a call, which runs once it is approved', agent({ ask: [{ category: 'write' }] }), {
    script: [write, say('Done.')],
    decide: () => approve({ by: 'ann' }),
    timeline: [/calls write/, 'ann approves write', 'write: write /home/a', 'agent: Done.'],
  }),
  scenario('an approver cannot edit a call into one that is denied', agent({ ask: ['write'], deny: [{ args: { path: '/etc/*' } }] }), {
    script: [write, say('Done.')],
    decide: ({ refused }) => (refused === undefined ? approve({ arguments: { path: '/etc/a' }, by: 'ann' }) : reject('no', { by: 'ann' })),
    timeline: [/calls write/, 'ann rejects write: no', /^write failed: .*Reason: no/, 'agent: Done.'],
  }),
  scenario('the mode permissive asks about execution, and leaves the approval of a tool', agent({ mode: 'permissive' }), {
    script: [shell, callTool('refund', { amount: 7 }), say('Done.')],
    decide: ({ toolName }) => (toolName === 'shell' ? reject('no', { by: 'ann' }) : approve({ by: 'ann' })),
    timeline: [
      /calls shell/,
      'ann rejects shell: no',
      /^shell failed: .*Reason: no/,
      /calls refund/,
      'ann approves refund',
      'refund: refunded 7',
      'agent: Done.',
    ],
  }),
  scenario('the mode strict allows what is named, and asks about it', agent({ mode: 'strict', allow: ['read'] }), {
    script: [together(read, write), say('Done.')],
    decide: () => approve({ by: 'ann' }),
    timeline: [
      /calls read/,
      /calls write/,
      /^write failed: .*no rule of "allow"/,
      'ann approves read',
      'read: read /home/a',
      'agent: Done.',
    ],
  }),
  scenario(
    'code gets an error for a call that is denied',
    agent({ deny: [{ args: { path: '/etc/*' } }] }, { code: { executor: quickjs() } }),
    {
      script: [
        callTool('run_code', { code: "try { await read({path: '/etc/keys'}) } catch (error) { print(String(error)) }" }),
        say('Done.'),
      ],
      timeline: [/run_code/, /read/, /^read failed: .*denies it/, /run_code.*denies it/s, 'agent: Done.'],
    },
  ),
  scenario('permissions that are narrowed during a model call hold for its calls', agent({}), {
    script: [write, say('Done.')],
    meanwhile: [setPermissions({ deny: [{ category: 'write' }] }, { step: 1 })],
    timeline: [
      /calls write/,
      'user sets permissions {"mode":"default","deny":[{"category":"write"}]}',
      /^write failed: .*deny: category "write" denies it/,
      'agent: Done.',
    ],
  }),
  scenario('a call that waits does not run if the permissions deny it by the time that it is approved', agent({ ask: ['write'] }), {
    script: [write, say('Done.')],
    meanwhile: [setPermissions({ ask: ['write'], deny: ['write'] }, { step: 1, waiting: 'write' })],
    decide: () => approve({ by: 'ann' }),
    timeline: [/calls write/, /sets permissions/, 'ann approves write', /^write failed: .*denies it/, 'agent: Done.'],
  }),
  scenario('wider permissions hold once the worker has authorized them', agent({ deny: [{ category: 'write' }] }), {
    script: [write, write, say('Done.')],
    meanwhile: [setPermissions({}, { step: 1 })],
    authorize: ({ toolName }) => ({ as: `${toolName} by the worker` }),
    timeline: [
      /calls write/,
      /^write failed: .*denies it/,
      'set_permissions by the worker sets permissions {"mode":"default"}',
      /calls write/,
      'write: write /home/a',
      'agent: Done.',
    ],
  }),
  scenario('wider permissions that narrower ones follow never hold', agent({ ask: ['write'] }), {
    script: [write, say('Done.')],
    meanwhile: [setPermissions({}, { step: 1 }), setPermissions({ ask: ['write'], deny: ['write'] }, { step: 1 })],
    authorize: () => ({ as: 'ann' }),
    timeline: [
      /calls write/,
      /not changed: a later change narrows them/,
      /sets permissions .*"deny"/,
      /^write failed: .*denies it/,
      'agent: Done.',
    ],
  }),
  scenario('wider permissions that the worker refuses do not hold', agent({ deny: [{ category: 'write' }] }), {
    script: [write, write, say('Done.')],
    meanwhile: [setPermissions({}, { step: 1 })],
    authorize: () => ({ refuse: 'no' }),
    timeline: [
      /calls write/,
      /^write failed: .*denies it/,
      /refused|refuses|not changed/,
      /calls write/,
      /^write failed: .*denies it/,
      'agent: Done.',
    ],
  }),
];
