/** The exact versions that a new project gets. A test compares them with those that the release is tested with. */
export const VERSIONS = {
  longhaul: '0.1.0',
  temporal: '1.24.0',
  protobufjs: '8.8.1',
  zod: '4.6.7',
  typescript: '7.0.2',
  nodeTypes: '24.19.2',
  anthropic: '4.0.105',
  ai: '7.0.173',
  react: '19.3.1',
  reactDom: '19.3.1',
  reactTypes: '19.3.0',
  next: '16.4.6',
} as const;
