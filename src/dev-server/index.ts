export { DevServerError } from './start-flags.ts';
export { startDevServer, type DevServer, type DevServerOptions } from './dev-server.ts';
export { findServer, type FindServerOptions, type FoundServer } from './find-server.ts';
export { holdRunFile, type RunFile } from './dev-server.ts';
export type { SearchAttributeType } from './start-flags.ts';
