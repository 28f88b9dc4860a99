export { DevServerError } from './dev-server-error.ts';
export { startDevServer, type DevServer, type DevServerOptions } from './dev-server.ts';
export { findServer, type FindServerOptions, type FoundServer } from './find-server.ts';
export { holdRunFile, type RunFile } from './run-file.ts';
export type { SearchAttributeType } from './start-flags.ts';
