/** A mistake in a definition, with the option that the compiler must name. */
export interface Mistake {
  name: string;
  /** The option, or what is in its place, in the words of the message or the marked line. */
  option: string;
  code: string;
}

const agent = (options: string): string => `defineAgent({ name: 'clerk', model: 'openai/gpt-5-mini', ${options} });`;
const tool = (options: string): string =>
  `defineTool({ name: 't', description: 'd', parameters: z.object({ order: z.number() }), execute: () => 1, ${options} });`;

/** What people write by mistake. Each is compiled by itself. */
export const MISTAKES: readonly Mistake[] = [
  { name: 'an agent without a model', option: 'model', code: "defineAgent({ name: 'clerk' });" },
  { name: 'an agent without a name', option: 'name', code: "defineAgent({ model: 'openai/gpt-5-mini' });" },
  { name: 'a name that is a number', option: 'name', code: "defineAgent({ name: 1, model: 'openai/gpt-5-mini' });" },
  { name: 'a model without a provider', option: 'model', code: "defineAgent({ name: 'clerk', model: 'gpt-5-mini' });" },
  { name: 'a misspelt option of an agent', option: 'instruction', code: agent("instruction: 'x'") },
  { name: 'tools as an object', option: 'tools', code: agent('tools: { a: 1 }') },
  { name: 'a tool that is a function', option: 'tools', code: agent('tools: [() => 1]') },
  { name: 'the names of tools in place of tools', option: 'tools', code: agent("tools: ['look_up']") },
  { name: 'instructions that are a number', option: 'instructions', code: agent('instructions: 5') },
  { name: 'an unknown limit', option: 'step', code: agent('limits: { step: 5 }') },
  { name: 'a limit that is a text', option: 'steps', code: agent("limits: { steps: '5' }") },
  { name: 'a deadline without a unit', option: 'deadline', code: agent("limits: { deadline: '5' }") },
  { name: 'an unknown setting', option: 'temprature', code: agent('settings: { temprature: 1 }') },
  { name: 'a temperature that is a text', option: 'temperature', code: agent("settings: { temperature: 'hot' }") },
  { name: 'deps that are no schema', option: 'deps', code: agent('deps: { customer: String }') },
  { name: 'an output that is no schema', option: 'output', code: agent("output: { type: 'object' }") },
  { name: 'parallel as a text', option: 'parallel', code: agent("parallel: 'yes'") },
  { name: 'an unknown reply format', option: 'replyFormat', code: agent("replyFormat: 'xml'") },
  { name: 'a handoff by an object', option: 'handoffs', code: agent('handoffs: [{ to: 1 }]') },
  { name: 'code that is a boolean', option: 'code', code: agent('code: true') },
  { name: 'an unknown option of the window', option: 'tokens', code: agent('window: { tokens: 5 }') },
  { name: 'hooks as a function', option: 'hooks', code: agent('hooks: () => 1') },
  { name: 'an MCP server by its address', option: 'mcp', code: agent("mcp: ['http://localhost']") },
  { name: 'permissions as a text', option: 'permissions', code: agent("permissions: 'all'") },
  { name: 'quiet hours without an end', option: 'quietHours', code: agent("quietHours: { from: '22:00', zone: 'Europe/Berlin' }") },
  { name: 'skills as a number', option: 'skills', code: agent('skills: 1') },
  {
    name: 'a tool without a description',
    option: 'description',
    code: "defineTool({ name: 't', parameters: z.object({}), execute: () => 1 });",
  },
  { name: 'a tool without execute', option: 'execute', code: "defineTool({ name: 't', description: 'd', parameters: z.object({}) });" },
  { name: 'a tool without parameters', option: 'parameters', code: "defineTool({ name: 't', description: 'd', execute: () => 1 });" },
  {
    name: 'parameters that are JSON Schema',
    option: 'parameters',
    code: "defineTool({ name: 't', description: 'd', parameters: { type: 'object' }, execute: () => 1 });",
  },
  { name: 'a misspelt option of a tool', option: 'aproval', code: tool("aproval: 'always'") },
  { name: 'an unknown approval', option: 'approval', code: tool("approval: 'sometimes'") },
  { name: 'an unknown effect', option: 'effect', code: tool("effect: 'twice'") },
  { name: 'a timeout without a unit', option: 'timeout', code: tool("timeout: '5'") },
  { name: 'attempts as a text', option: 'maxAttempts', code: tool("maxAttempts: '3'") },
  { name: 'an unknown tier', option: 'tier', code: tool("tier: 'near'") },
  { name: 'updates as a text', option: 'updates', code: tool("updates: 'cart'") },
  { name: 'a caller that is none', option: 'callers', code: tool("callers: ['user']") },
  {
    name: 'an argument that the parameters do not have',
    option: 'article',
    code: "defineTool({ name: 't', description: 'd', parameters: z.object({ order: z.number() }), execute: ({ article }) => article });",
  },
  {
    name: 'a tool whose deps the agent does not have',
    option: 'tools',
    code: `const needy = defineTool({ name: 't', description: 'd', parameters: z.object({}), execute: (_, context: RunContext<{ cart: string[] }>) => context.deps.cart.length });
defineAgent({ name: 'clerk', model: 'openai/gpt-5-mini', deps: z.object({ user: z.string() }), tools: [needy] });`,
  },
  {
    name: 'instructions that use deps which are not declared',
    option: 'customer',
    code: agent('deps: z.object({ user: z.string() }), instructions: ({ customer }) => customer'),
  },
  {
    name: 'instructions that return a number',
    option: 'instructions',
    code: agent('deps: z.object({ user: z.string() }), instructions: () => 5'),
  },
];
