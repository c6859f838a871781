export type { ApiName } from "./api.ts";
export { MemoryCache, type ProxyCache } from "./cache.ts";
export { createLoopProxy, type LoopProxy, type ProxyMetrics } from "./handler.ts";
export type { LoopProxyOptions, ProxyAction, ProxyExchange, ProxyPolicy } from "./options.ts";
