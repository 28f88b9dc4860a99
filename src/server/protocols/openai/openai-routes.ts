import type { Route } from '../../routing/route.ts';
import { chatRoute } from './chat/chat-route.ts';
import { MODEL_ROUTES } from './models/model-routes.ts';
import { createResponseRoute } from './responses/create-response.ts';
import { RESPONSE_ROUTES } from './responses/read-routes.ts';

/** The routes of the OpenAI protocol. They are not in the OpenAPI document: their shapes are those of OpenAI's own. */
export const OPENAI_ROUTES: readonly Route[] = [...MODEL_ROUTES, chatRoute, createResponseRoute, ...RESPONSE_ROUTES];

const PATH = /^\/v1\/(?:models|chat|responses)(?:\/|$)/;

/** True for a path of the protocol, without the prefix of the service: its errors have the form of the protocol. */
export function isOpenaiPath(path: string): boolean {
  return PATH.test(path);
}
