import { z } from 'zod';
import { defineTool, quickjs, type AnyAgent, type PermissionOptions, type ToolCategory } from '../../../src/index.ts';
import { approve, callTool, reject, say, together } from '../../../src/testing/index.ts';
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
  return agentWith([fileTool('read', 'read'), fileTool('write', 'write'), fileTool('shell', 'execute'), refund as never], {
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
    'a call that a rule for arguments denies gives an error, beside one that runs',
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
    script: [together(shell, callTool('refund', { amount: 7 })), say('Done.')],
    decide: ({ toolName }) => (toolName === 'shell' ? reject('no', { by: 'ann' }) : approve({ by: 'ann' })),
    timeline: [
      /calls shell/,
      /calls refund/,
      'ann rejects shell: no',
      'ann approves refund',
      /^shell failed: .*Reason: no/,
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
];
