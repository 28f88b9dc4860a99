import type { OperatorService, WorkflowService } from '@temporalio/client';
import type { KnownSearchAttributes } from '../activities/runtime.ts';
import { GRPC, grpcCode } from '../src/temporal/grpc-code.ts';
import { errorMessage } from '../src/core/domain/errors/error.ts';
import { SEARCH_ATTRIBUTE_TYPES, SEARCH_ATTRIBUTES } from '../src/core/protocol.ts';

type Name = keyof typeof SEARCH_ATTRIBUTE_TYPES;
type Type = (typeof SEARCH_ATTRIBUTE_TYPES)[Name];

/** The server's numbers of the types. */
const TYPE_NUMBERS = { Keyword: 2, KeywordList: 7 } as const satisfies Record<Type, number>;

const NAMES = Object.keys(SEARCH_ATTRIBUTE_TYPES) as Name[];

/** The part of a connection with which the attributes are looked up and added. */
export interface SearchAttributeAccess {
  operatorService: Pick<OperatorService, 'listSearchAttributes' | 'addSearchAttributes'>;
  workflowService: Pick<WorkflowService, 'countWorkflowExecutions'>;
}

/**
 * Registers Longhaul's search attributes if they are missing, and returns those that the namespace has. Runs work
 * without missing ones; `warn` then receives one line with the command for an administrator.
 */
export async function ensureSearchAttributes(
  connection: SearchAttributeAccess,
  namespace: string,
  warn: (line: string) => void,
): Promise<KnownSearchAttributes> {
  const { missing, why } = await register(connection, namespace);
  if (missing.length > 0) warn(advice(namespace, missing, why));
  const has = (name: Name): boolean => !missing.includes(name);
  return {
    agentAndStatus: has(SEARCH_ATTRIBUTES.agent) && has(SEARCH_ATTRIBUTES.status),
    waitingFor: has(SEARCH_ATTRIBUTES.waitingFor),
    tag: has(SEARCH_ATTRIBUTES.tag),
  };
}

/** Adds missing attributes. Returns those that are still missing, and why. */
async function register(connection: SearchAttributeAccess, namespace: string): Promise<{ missing: Name[]; why: string }> {
  try {
    const missing = await missingIn(connection, namespace);
    if (missing.length === 0) return { missing, why: '' };
    const refused = await add(connection, namespace, missing);
    // Adding an attribute that exists with another type is answered with success and changes nothing.
    return { missing: await missingIn(connection, namespace), why: refused ?? 'the server did not add them with these types' };
  } catch (error) {
    const missing: Name[] = [];
    for (const name of NAMES) if (!(await canBeSearched(connection, namespace, name))) missing.push(name);
    return { missing, why: errorMessage(error) };
  }
}

async function missingIn({ operatorService }: SearchAttributeAccess, namespace: string): Promise<Name[]> {
  const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
  return NAMES.filter((name) => customAttributes?.[name] !== TYPE_NUMBERS[SEARCH_ATTRIBUTE_TYPES[name]]);
}

/**
 * Adds attributes, one type at a time: a namespace may have room for one type and not for another. Returns why some
 * were not added.
 */
async function add({ operatorService }: SearchAttributeAccess, namespace: string, names: Name[]): Promise<string | undefined> {
  let refused: string | undefined;
  for (const [type, number] of Object.entries(TYPE_NUMBERS)) {
    const ofType = names.filter((name) => SEARCH_ATTRIBUTE_TYPES[name] === type);
    if (ofType.length === 0) continue;
    try {
      await operatorService.addSearchAttributes({ namespace, searchAttributes: Object.fromEntries(ofType.map((name) => [name, number])) });
    } catch (error) {
      refused ??= errorMessage(error);
    }
  }
  return refused;
}

/**
 * Returns true if an attribute can be queried as its type allows: the only test if workers may not use the operator
 * service (Temporal Cloud). Keyword supports STARTS_WITH; KeywordList supports IN, and refuses STARTS_WITH.
 */
async function canBeSearched({ workflowService }: SearchAttributeAccess, namespace: string, name: Name): Promise<boolean> {
  const isTaken = async (condition: string): Promise<boolean | undefined> => {
    try {
      await workflowService.countWorkflowExecutions({ namespace, query: `${name} ${condition}` });
      return true;
    } catch (error) {
      // The server has parsed the query and refuses it: any other failure says nothing about the attribute.
      return grpcCode(error) === GRPC.invalidArgument ? false : undefined;
    }
  };
  const startsWith = await isTaken(`STARTS_WITH 'x'`);
  if (SEARCH_ATTRIBUTE_TYPES[name] === 'Keyword') return startsWith === true;
  return startsWith === false && (await isTaken(`IN ('x')`)) === true;
}

/** The properties by which runs can be found with each attribute. */
const FOUND_BY: Record<Name, string> = {
  LonghaulAgent: 'agent or status',
  LonghaulStatus: 'agent or status',
  LonghaulWaitingFor: 'what they wait for',
  LonghaulTag: 'tag',
  LonghaulSession: 'session',
  LonghaulTenant: 'principal',
  LonghaulUser: 'principal',
};

function advice(namespace: string, names: Name[], why: string): string {
  const flags = names.map((name) => `--name ${name} --type ${SEARCH_ATTRIBUTE_TYPES[name]}`).join(' ');
  const by = [...new Set(names.map((name) => FOUND_BY[name]))].join(' or ');
  return (
    `Runs in namespace "${namespace}" cannot be found by ${by}: search attributes are missing (${why}). ` +
    `An administrator can add them: temporal operator search-attribute create --namespace ${namespace} ${flags}`
  );
}
