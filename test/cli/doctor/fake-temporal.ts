import { Metadata, Server, ServerCredentials, type ServiceDefinition, status as codes } from '@grpc/grpc-js';
import protocol from '@temporalio/proto';
import { BATCH_COLLECTOR } from '../../../src/core/protocol.ts';

const { temporal } = protocol;

/** The answers of a fake server. The defaults are the answers of a healthy one. */
export interface FakeTemporalOptions {
  version?: string;
  namespaces?: readonly string[];
  retentionDays?: number;
  /** Methods that refuse every call, with PERMISSION_DENIED. */
  refuses?: readonly string[];
  /** Methods that answer no call, like a server that is away. */
  away?: readonly string[];
  /** How many milliseconds the header `date` is ahead. Absent: no answer has the header. */
  aheadMs?: number;
  /** The custom search attributes, by name: changed by calls that add some. */
  attributes?: Record<string, number>;
  pollers?: readonly object[];
  currentBuild?: { deploymentName: string; buildId: string };
  backlog?: { count: number; ageSeconds: number };
  /** The agents that have open runs. */
  openAgents?: readonly string[];
  /** The keys of the payloads of open runs, by run. */
  openRuns?: Readonly<Record<string, readonly string[]>>;
  /** The same of collectors of batches. */
  openCollectors?: Readonly<Record<string, readonly string[]>>;
  /** The number of open workflows of the user. Default 0. */
  openOthers?: number;
}

const KEYWORD = 2;
const DATETIME = 6;
const KEYWORD_LIST = 7;

/** The search attributes of a namespace where workers have run. */
export const ALL_ATTRIBUTES: Readonly<Record<string, number>> = {
  LonghaulAgent: KEYWORD,
  LonghaulStatus: KEYWORD,
  LonghaulWaitingFor: KEYWORD_LIST,
  LonghaulTag: KEYWORD_LIST,
  LonghaulSession: KEYWORD,
  LonghaulTenant: KEYWORD,
  LonghaulUser: KEYWORD,
  LonghaulStarted: DATETIME,
};

type Answer = (request: Record<string, unknown>) => object;

/** Starts a server that speaks gRPC as Temporal does, with answers from a table. */
export async function startFakeTemporal(
  options: FakeTemporalOptions = {},
): Promise<AsyncDisposable & { address: string; attributes: Record<string, number> }> {
  const {
    version = '1.29.1',
    namespaces = ['default'],
    retentionDays = 3,
    refuses = [],
    away = [],
    openAgents = [],
    openRuns = {},
    openCollectors = {},
    openOthers = 0,
  } = options;
  const attributes = { ...(options.attributes ?? ALL_ATTRIBUTES) };
  const requireNamespace = ({ namespace }: Record<string, unknown>): void => {
    if (!namespaces.includes(String(namespace)))
      throw Object.assign(new Error(`Namespace ${String(namespace)} is not found.`), { code: codes.NOT_FOUND });
  };
  /** The open workflows of the types that a query names. */
  const openIds = (query: string): string[] =>
    query.includes('WorkflowType') && !query.includes(BATCH_COLLECTOR)
      ? Object.keys(openRuns)
      : Object.keys({ ...openRuns, ...openCollectors });
  const answers: Record<string, Answer> = {
    GetSystemInfo: () => ({ serverVersion: version, capabilities: {} }),
    DescribeNamespace: (request) => {
      requireNamespace(request);
      return { config: { workflowExecutionRetentionTtl: { seconds: Math.round(retentionDays * 86_400) } } };
    },
    CountWorkflowExecutions: ({ query }) => ({
      count: openIds(String(query)).length + (String(query).includes('WorkflowType') ? 0 : openOthers),
    }),
    GetWorkflowExecutionHistory: ({ execution }) => {
      const { workflowId = '' } = execution as { workflowId?: string };
      const encrypted = (keyId: string): object => ({
        metadata: { encoding: Buffer.from('binary/aes-256-gcm'), 'encryption-key-id': Buffer.from(keyId) },
        data: Buffer.from('secret'),
      });
      const payloads = ({ ...openRuns, ...openCollectors }[workflowId] ?? []).map(encrypted);
      return { history: { events: [{ eventId: 1, workflowExecutionStartedEventAttributes: { input: { payloads } } }] } };
    },
    SignalWorkflowExecution: () => {
      throw Object.assign(new Error('workflow not found'), { code: codes.NOT_FOUND });
    },
    DescribeTaskQueue: () => ({
      pollers: options.pollers ?? [{ identity: '1@host' }],
      ...(options.currentBuild === undefined ? {} : { versioningInfo: { currentDeploymentVersion: options.currentBuild } }),
      stats: {
        approximateBacklogCount: options.backlog?.count ?? 0,
        approximateBacklogAge: { seconds: options.backlog?.ageSeconds ?? 0 },
      },
    }),
    ListWorkflowExecutions: ({ query }) => ({
      executions: [
        ...openIds(String(query)).map((workflowId) => ({ execution: { workflowId, runId: workflowId } })),
        ...openAgents.map((name) => ({
          searchAttributes: { indexedFields: { LonghaulAgent: { data: Buffer.from(JSON.stringify(name)) } } },
        })),
      ],
    }),
    ListSearchAttributes: () => ({ customAttributes: attributes }),
    AddSearchAttributes: ({ searchAttributes }) => {
      Object.assign(attributes, searchAttributes);
      return {};
    },
  };
  const server = new Server();
  const { WorkflowService } = temporal.api.workflowservice.v1;
  const { OperatorService } = temporal.api.operatorservice.v1;
  for (const [service, types, methods] of [
    [
      WorkflowService,
      temporal.api.workflowservice.v1,
      [
        'GetSystemInfo',
        'DescribeNamespace',
        'CountWorkflowExecutions',
        'SignalWorkflowExecution',
        'DescribeTaskQueue',
        'ListWorkflowExecutions',
        'GetWorkflowExecutionHistory',
      ],
    ],
    [OperatorService, temporal.api.operatorservice.v1, ['ListSearchAttributes', 'AddSearchAttributes']],
  ] as const) {
    const path =
      service === WorkflowService ? 'temporal.api.workflowservice.v1.WorkflowService' : 'temporal.api.operatorservice.v1.OperatorService';
    server.addService(
      definitionOf(path, types as unknown as Types, methods),
      implementationOf(methods, { answers, refuses, away, aheadMs: options.aheadMs }),
    );
  }
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return {
    address: `127.0.0.1:${port}`,
    attributes,
    [Symbol.asyncDispose]: async () => server.forceShutdown(),
  };
}

/** A message of the protocol, as protobufjs generates it. */
interface MessageType {
  encode(message: object): { finish(): Uint8Array };
  decode(bytes: Uint8Array): object;
  fromObject(value: object): object;
}

type Types = Readonly<Record<string, MessageType>>;

function definitionOf(path: string, types: Types, methods: readonly string[]): ServiceDefinition {
  return Object.fromEntries(
    methods.map((method) => {
      const request = types[`${method}Request`];
      const response = types[`${method}Response`];
      if (request === undefined || response === undefined) throw new Error(`There is no method "${method}"`);
      return [
        method,
        {
          path: `/${path}/${method}`,
          requestStream: false,
          responseStream: false,
          requestSerialize: (value: object) => Buffer.from(request.encode(value).finish()),
          requestDeserialize: (bytes: Buffer) => request.decode(bytes),
          responseSerialize: (value: object) => Buffer.from(response.encode(response.fromObject(value)).finish()),
          responseDeserialize: (bytes: Buffer) => response.decode(bytes),
        },
      ];
    }),
  );
}

interface Behavior {
  answers: Readonly<Record<string, Answer>>;
  refuses: readonly string[];
  away: readonly string[];
  aheadMs: number | undefined;
}

function implementationOf(methods: readonly string[], { answers, refuses, away, aheadMs }: Behavior): Parameters<Server['addService']>[1] {
  return Object.fromEntries(
    methods.map((method) => [
      method,
      (
        call: { request: Record<string, unknown>; sendMetadata: (metadata: Metadata) => void },
        done: (error: object | null, value?: object) => void,
      ) => {
        if (aheadMs !== undefined) {
          const metadata = new Metadata();
          metadata.set('date', new Date(Date.now() + aheadMs).toUTCString());
          call.sendMetadata(metadata);
        }
        if (away.includes(method)) return done({ code: codes.UNAVAILABLE, details: 'no healthy upstream' });
        if (refuses.includes(method)) return done({ code: codes.PERMISSION_DENIED, details: 'Request unauthorized.' });
        try {
          done(null, answers[method]?.(call.request) ?? {});
        } catch (error) {
          done({ code: codes.UNKNOWN, ...(error as object), details: (error as Error).message });
        }
      },
    ]),
  );
}
