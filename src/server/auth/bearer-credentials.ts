/** Returns the credentials in `Authorization: Bearer …`; undefined without that header, or for another scheme. */
export function bearerCredentials(request: Request): string | undefined {
  return /^bearer +([^\s,]+) *$/i.exec(request.headers.get('authorization') ?? '')?.[1];
}
