import type { PackageManager, Provider, Template } from './choices.ts';
import { VERSIONS } from './versions.ts';

/** What a project begins with. */
export interface Choices {
  name: string;
  template: Template;
  provider: Provider;
  packageManager: PackageManager;
}

/** Returns the files of a project, by their paths. */
export function projectFiles(choices: Choices): Record<string, string> {
  return {
    'agents.ts': agentsModule(choices),
    'agents.test.ts': testModule(choices),
    'package.json': packageJson(choices),
    'tsconfig.json': tsconfig(choices),
    '.env.example': envExample(choices),
    '.gitignore': 'node_modules\n.env\n.longhaul\n.next\n*.log\n',
    Dockerfile: dockerfile(choices),
    'AGENTS.md': assistantsPage(choices),
    'README.md': readme(choices),
    ...(choices.packageManager === 'pnpm' ? { 'pnpm-workspace.yaml': PNPM_SETTINGS } : {}),
    ...furtherFiles(choices),
  };
}

const MODELS: Readonly<Record<Provider, string>> = {
  openai: 'openai/gpt-5-mini',
  anthropic: 'anthropic/claude-sonnet-4-5',
  ollama: 'ollama/qwen3',
  scripted: 'scripted/clerk',
};

/** Without it, pnpm ends an installation with an error if a package has an install script that nobody has decided about. */
const PNPM_SETTINGS = `# No package of this project needs its install script: pnpm runs none, and does not fail for that.
strictDepBuilds: false
allowBuilds:
  '@swc/core': false
  protobufjs: false
  sharp: false
`;

function asksPeople(template: Template): boolean {
  return template === 'approvals' || template === 'sessions';
}

function agentsModule({ template, provider }: Choices): string {
  const imports = {
    // A worker of one's own reads the providers of this file: there, the one of OpenAI is named, too.
    openai: template === 'existing-worker' ? "import { openai } from 'longhaul/worker';\n" : '',
    anthropic: "import { aiSdk } from 'longhaul/worker';\nimport { createAnthropic } from '@ai-sdk/anthropic';\n",
    ollama: "import { openai } from 'longhaul/worker';\n",
    scripted: '',
  }[provider];
  const refund = asksPeople(template);
  return `import { defineAgent, defineTool${provider === 'scripted' ? ', type ModelClient' : ''} } from 'longhaul';
${imports}import { z } from 'zod';

const orders = new Map([[42, { status: 'arrived broken', paid: 30 }]]);

const lookUpOrder = defineTool({
  name: 'look_up_order',
  description: 'Looks up an order by its number',
  parameters: z.object({ order: z.int().describe('The number of the order') }),
  execute: ({ order }) => orders.get(order) ?? \`There is no order \${order}\`,
});
${
  refund
    ? `
// Each call waits for a person, for days if need be, and runs once.
const refund = defineTool({
  name: 'refund',
  description: 'Pays the price of an order back',
  parameters: z.object({ order: z.int(), amount: z.number().positive() }),
  effect: 'once',
  approval: 'always',
  execute: ({ order, amount }) => \`refunded \${amount} for order \${order}\`,
});
`
    : ''
}
export const clerk = defineAgent({
  name: 'clerk',
  model: '${MODELS[provider]}',
  instructions: 'You answer questions about orders. Look them up; do not guess.${refund ? ' Refund what arrived broken.' : ''}',
  tools: [lookUpOrder${refund ? ', refund' : ''}],
  limits: { steps: 8 },
});

export const agents = [clerk];
${providersText({ template, provider }, refund)}`;
}

function providersText({ template, provider }: Pick<Choices, 'template' | 'provider'>, refund: boolean): string {
  switch (provider) {
    case 'openai':
      return template === 'existing-worker' ? '\nexport const providers = { openai: openai() };\n' : '';
    case 'anthropic':
      return `
export const providers = {
  anthropic: aiSdk(async (id, { secret }) => createAnthropic({ apiKey: await secret('anthropic-api-key') })(id)),
};
`;
    case 'ollama':
      return `
export const providers = { ollama: openai({ baseURL: 'http://localhost:11434/v1', apiKey: 'none' }) };
`;
    case 'scripted': {
      const first = "{ name: 'look_up_order', arguments: { order: 42 } }";
      const calls = refund ? `[${first}, { name: 'refund', arguments: { order: 42, amount: 30 } }]` : `[${first}]`;
      return `
// Takes the place of a model, so that everything runs without a key: it makes these calls for each question, and then answers.
const script = ${calls};

const scripted: ModelClient = {
  capabilities: { structuredOutput: true },
  call: async ({ conversation }) => {
    const asked = conversation.findLastIndex(({ author }) => author === 'user');
    const call = script[conversation.slice(asked).filter(({ content }) => content.some(({ type }) => type === 'tool_call')).length];
    return call === undefined
      ? { content: 'Order 42 arrived broken.${refund ? ' Its price is paid back.' : ''}', toolCalls: [], usage: null, finishReason: 'stop' }
      : { content: '', toolCalls: [{ id: \`call-\${conversation.length}\`, ...call }], usage: null, finishReason: 'tool_calls' };
  },
};

export const providers = { scripted };
`;
    }
  }
}

function testModule({ template }: Choices): string {
  if (!asksPeople(template)) {
    return `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callTool, forbidRealModels, say, scriptedModel, testAgent } from 'longhaul/testing';
import { clerk } from './agents.ts';

forbidRealModels(); // no test costs money

test('the clerk looks an order up before it answers', async () => {
  const model = scriptedModel([callTool('look_up_order', { order: 42 }), say('It arrived broken.')]);
  const { result, steps } = await testAgent(clerk, { input: 'Where is order 42?', model });
  assert.equal(result.output, 'It arrived broken.');
  assert.match(steps[0]?.toolCalls[0]?.result ?? '', /arrived broken/);
});
`;
  }
  return `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { approve, callTool, forbidRealModels, reject, say, scriptedModel, testAgent } from 'longhaul/testing';
import { clerk } from './agents.ts';

forbidRealModels(); // no test costs money

const model = () => scriptedModel([callTool('refund', { order: 42, amount: 30 }), say('Done.')]);

test('a refund that a person approves is paid', async () => {
  const { result, steps } = await testAgent(clerk, { input: 'My order is broken', model: model(), decide: () => approve() });
  assert.equal(result.output, 'Done.');
  assert.match(steps[0]?.toolCalls[0]?.result ?? '', /refunded 30/);
});

test('a refund that a person rejects is not paid', async () => {
  const { steps } = await testAgent(clerk, { input: 'My order is broken', model: model(), decide: () => reject('not this time') });
  assert.doesNotMatch(steps[0]?.toolCalls[0]?.result ?? '', /refunded/);
});
`;
}

/** The packages of Temporal's SDK that a project with a worker needs, at one version. */
const SDK = ['activity', 'client', 'common', 'envconfig', 'plugin', 'proto', 'worker', 'workflow'];

/** The kit for tests needs one more. */
const SDK_OF_TESTS = ['testing'];

function packageJson({ name, template, provider }: Choices): string {
  const isNext = template === 'next';
  const sdk = (names: readonly string[]): Record<string, string> =>
    Object.fromEntries(names.map((one) => [`@temporalio/${one}`, VERSIONS.temporal]));
  const content = {
    name,
    version: '0.0.0',
    private: true,
    type: 'module',
    scripts: {
      // A second worker would take tasks of the project's worker, and knows none of its workflows.
      dev: template === 'existing-worker' ? 'longhaul dev' : 'longhaul dev --agents ./agents.ts --watch',
      ...(template === 'service' ? { service: 'node service.ts' } : {}),
      ...(isNext ? { web: 'next dev', build: 'next build' } : {}),
      worker: template === 'existing-worker' ? 'node worker.ts' : 'longhaul worker --agents ./agents.ts',
      test: 'node --test',
      typecheck: 'tsc --noEmit',
      doctor: 'longhaul doctor --agents ./agents.ts',
    },
    dependencies: sorted({
      ...sdk(SDK),
      longhaul: VERSIONS.longhaul,
      protobufjs: VERSIONS.protobufjs,
      zod: VERSIONS.zod,
      ...(provider === 'anthropic' ? { '@ai-sdk/anthropic': VERSIONS.anthropic } : {}),
      ...(isNext ? { next: VERSIONS.next, react: VERSIONS.react, 'react-dom': VERSIONS.reactDom } : {}),
    }),
    devDependencies: sorted({
      ...sdk(SDK_OF_TESTS),
      '@types/node': VERSIONS.nodeTypes,
      typescript: VERSIONS.typescript,
      ...(isNext ? { '@types/react': VERSIONS.reactTypes } : {}),
    }),
    engines: { node: '^22.18.0 || >=24.0.0' },
  };
  return `${JSON.stringify(content, null, 2)}\n`;
}

function sorted(packages: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(packages).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

function tsconfig({ template }: Choices): string {
  const isNext = template === 'next';
  const compilerOptions = {
    module: isNext ? 'esnext' : 'nodenext',
    ...(isNext ? { moduleResolution: 'bundler', jsx: 'preserve' } : {}),
    target: 'es2024',
    lib: ['es2024', ...(isNext ? ['dom'] : [])],
    types: ['node'],
    strict: true,
    noUncheckedIndexedAccess: true,
    verbatimModuleSyntax: true,
    erasableSyntaxOnly: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    noEmit: true,
  };
  return `${JSON.stringify({ compilerOptions, exclude: ['node_modules', '.next'] }, null, 2)}\n`;
}

function envExample({ provider }: Choices): string {
  const keys = {
    openai: 'OPENAI_API_KEY=\n',
    anthropic: 'ANTHROPIC_API_KEY=\n',
    ollama: '# Ollama needs no key. It listens on http://localhost:11434.\n',
    scripted: '# The scripted model needs no key.\n',
  }[provider];
  return `${keys}# The Temporal server. "longhaul dev" starts one, and needs none of these.\nTEMPORAL_ADDRESS=localhost:7233\nTEMPORAL_NAMESPACE=default\n`;
}

function dockerfile({ packageManager, template }: Choices): string {
  const install = {
    npm: 'RUN npm install --omit=dev --no-audit --no-fund',
    pnpm: 'RUN npx --yes pnpm install --prod',
    yarn: 'RUN npx --yes yarn install --production',
    bun: 'RUN npx --yes bun install --production',
  }[packageManager];
  const command =
    template === 'existing-worker' ? '["node", "worker.ts"]' : '["node_modules/.bin/longhaul", "worker", "--agents", "./agents.ts"]';
  return `# glibc: the core of Temporal's SDK does not load on Alpine.
FROM node:24-bookworm-slim
WORKDIR /app
COPY package.json *lock*${packageManager === 'pnpm' ? ' pnpm-workspace.yaml' : ''} ./
${install}
# Add folders of yours here. What is not named stays out of the image, such as .env.
COPY *.ts *.json ./
USER 1000
ENV NODE_ENV=production
CMD ${command}
`;
}

function assistantsPage({ template, packageManager }: Choices): string {
  const { run, exec } = callsOf(packageManager);
  return `# For coding assistants

This project runs durable AI agents with Longhaul on Temporal. A run of an agent is a Temporal workflow; model and tool calls are activities.

- \`agents.ts\` exports \`agents\` (made by \`defineAgent\`), and \`providers\` if there are others than \`openai\`.
- Tools are made by \`defineTool\`, with zod schemas. \`effect: 'once'\` for what must not happen twice, \`approval\` for what a person decides.
- Secrets are read in tools by \`await context.secret('name')\`, never from a run's input: everything in a run is recorded.
- Tests use \`testAgent\` and \`scriptedModel\` of \`longhaul/testing\`: no network, no server, time is virtual. Run them with \`${run} test\`.
- The manual of the installed version is in \`node_modules/longhaul/docs\`. \`${exec} longhaul docs --print\` lists its pages, each with what it is about, as \`llms.txt\` of the site does; \`${exec} longhaul docs --print approval\` prints the best page about a word.
- Read \`tour.md\` first, then what you need of \`tools.md\`, \`testing.md\`, \`options.md\`, \`cli.md\`, \`errors.md\`, \`cookbook/README.md\`.
- \`${run} typecheck\` after each change; \`${run} doctor\` if something does not run.
${template === 'existing-worker' ? '- `worker.ts` is an ordinary Temporal worker; `LonghaulPlugin` adds the agents and the providers of `agents.ts` to it.\n' : ''}`;
}

/** How a package manager runs a script of the project, and a program of its packages. `run` is never left out: `pnpm doctor` and `bun test` are commands of theirs. */
export function callsOf(packageManager: PackageManager): { run: string; exec: string } {
  return { run: `${packageManager} run`, exec: { npm: 'npx', pnpm: 'pnpm exec', yarn: 'yarn', bun: 'bunx' }[packageManager] };
}

function readme({ name, template, provider, packageManager }: Choices): string {
  const { run, exec } = callsOf(packageManager);
  const key = provider === 'openai' ? 'export OPENAI_API_KEY=…\n' : provider === 'anthropic' ? 'export ANTHROPIC_API_KEY=…\n' : '';
  // What stays open next to the server, and then the question.
  const scripts: Partial<Record<Template, string>> = { service: 'service', next: 'web', 'existing-worker': 'worker' };
  const ask = {
    basic: `${exec} longhaul start clerk "Where is order 42?" --wait`,
    approvals: `${exec} longhaul start clerk "Order 42 arrived broken"\n${exec} longhaul approvals\n${exec} longhaul approve <run>\n${exec} longhaul result <run>`,
    sessions: `${exec} longhaul chat clerk`,
    service: `curl -X POST localhost:3000/v1/runs -H 'content-type: application/json' -d '{"agent": "clerk", "input": "Where is order 42?"}'\ncurl localhost:3000/v1/runs/<run>/result`,
    next: '',
    'existing-worker': `${exec} longhaul start clerk "Where is order 42?" --wait`,
  }[template];
  // The key is needed where the worker is.
  const opened = scripts[template] === undefined ? '' : fence(`${template === 'existing-worker' ? key : ''}${run} ${scripts[template]}`);
  const asked = template === 'next' ? 'Then open http://localhost:3000, and ask.' : `In a third one:\n\n${fence(ask)}`;
  const hint = {
    approvals: '\n\nThe second command shows the run that waits for you. `<run>` is its id, which the first one prints.',
    sessions: '\n\nWrite `Order 42 arrived broken`, and `y` when it asks whether to pay the refund. `/exit` leaves.',
    service: '\n\n`<run>` is the `runId` of the first answer.',
    basic: '',
    next: '',
    'existing-worker': '',
  }[template];
  return `# ${name}

An agent with [Longhaul](https://github.com/longhaul-agents/longhaul), begun from the template \`${template}\`.

\`\`\`sh
${template === 'existing-worker' ? '' : key}${run} dev        # a local Temporal server${template === 'existing-worker' ? '' : ', and a worker with agents.ts'}
\`\`\`

In a second terminal:

${opened === '' ? fence(ask) : `${opened}\n\n${asked}`}${hint}

| command | what it does |
| --- | --- |
| \`${run} test\` | tests without a model or a server |
| \`${run} typecheck\` | types |
| \`${run} doctor\` | says what is missing here |
`;
}

function fence(commands: string): string {
  return `\`\`\`sh\n${commands}\n\`\`\``;
}

function furtherFiles({ template }: Choices): Record<string, string> {
  switch (template) {
    case 'service':
      return { 'service.ts': SERVICE };
    case 'next':
      return { 'app/layout.tsx': LAYOUT, 'app/page.tsx': PAGE };
    case 'existing-worker':
      return { 'worker.ts': WORKER, 'workflows.ts': WORKFLOWS };
    case 'basic':
    case 'approvals':
    case 'sessions':
      return {};
  }
}

const SERVICE = `// Runs over HTTP. Without "authenticate" the handler answers this machine alone.
import { createServer } from 'node:http';
import { connect } from 'longhaul/client';
import { createHandler, nodeListener } from 'longhaul/server';

const handler = createHandler(await connect());
const port = Number(process.env['PORT'] ?? 3000);
createServer(nodeListener(handler)).listen(port, '127.0.0.1', () => console.log(\`Listening on http://127.0.0.1:\${port}\`));
`;

const LAYOUT = `import type { ReactNode } from 'react';

export default function Layout({ children }: { children: ReactNode }) {
  return (
    <html lang="en">
      <body>{children}</body>
    </html>
  );
}
`;

const PAGE = `// Asks the agent on the server. The run is in the address: a page that is loaded again shows the same answer.
import { connect, type LonghaulClient } from 'longhaul/client';
import { redirect } from 'next/navigation';

let opened: Promise<LonghaulClient> | undefined;

async function signedIn(): Promise<LonghaulClient> {
  // Who develops may do everything; put the sign-in of your users here before you deploy.
  if (process.env.NODE_ENV !== 'development') throw new Error('Nobody is signed in');
  // Not before the first question: "next build" loads this file, too.
  opened ??= connect();
  try {
    return await opened;
  } catch (error) {
    opened = undefined; // No Temporal server has answered: the next question tries again.
    throw error;
  }
}

async function ask(form: FormData): Promise<void> {
  'use server';
  const client = await signedIn();
  const { runId } = await client.start('clerk', { input: String(form.get('question')) });
  redirect(\`/?run=\${encodeURIComponent(runId)}\`);
}

async function answerOf(run: string): Promise<string> {
  const client = await signedIn();
  const { output } = await client.handle(run).result();
  return String(output);
}

export default async function Page({ searchParams }: { searchParams: Promise<{ run?: string }> }) {
  const { run } = await searchParams;
  return (
    <form action={ask}>
      <input name="question" defaultValue="Where is order 42?" />
      <button>Ask</button>
      <p>{run === undefined ? '' : await answerOf(run)}</p>
    </form>
  );
}
`;

/** The worker of a person who has one already. */
const WORKER = `// A Temporal worker of your own: the plugin adds the agents to it.
import { fileURLToPath } from 'node:url';
import { NativeConnection, Worker } from '@temporalio/worker';
import { LonghaulPlugin } from 'longhaul/worker';
import { agents, providers } from './agents.ts';

const connection = await NativeConnection.connect({ address: process.env['TEMPORAL_ADDRESS'] ?? 'localhost:7233' });
const worker = await Worker.create({
  connection,
  namespace: process.env['TEMPORAL_NAMESPACE'] ?? 'default',
  taskQueue: 'longhaul',
  workflowsPath: fileURLToPath(new URL('./workflows.ts', import.meta.url)),
  activities: {},
  plugins: [new LonghaulPlugin({ agents, providers })],
});
await worker.run();
`;

const WORKFLOWS = `// Workflows of your own. An agent runs inside of one by runAgent, as a child.
import { runAgent } from 'longhaul/workflow';

export async function answerOrder(question: string): Promise<string> {
  const { output } = await runAgent('clerk', { input: question });
  return String(output);
}
`;
