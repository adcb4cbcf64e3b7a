// The models of this router: the shipped catalog and the files of SWITCHYARD_CATALOG, validated at load.
import { readFileSync } from 'node:fs';
import {
  type CatalogModel,
  catalogFile,
  MODEL_TYPES,
  type ModelObject,
  type ModelType,
  ServiceError,
  unknownModel,
} from '@switchyard/contracts';
import { markUp } from '@switchyard/money';
import { ConfigError } from '@switchyard/service';
import { load } from 'js-yaml';

/** A wrong file of SWITCHYARD_CATALOG: the service ends, and a restart would not help. */
class CatalogError extends ConfigError {}

/** The catalog's data on a maker's adapter. */
export interface Adapter {
  /** The model types that this adapter can call. */
  readonly types: readonly ModelType[];
  /** The variable of the credential, for upstreams that name none. */
  readonly apiKeyEnv?: string;
}

interface CatalogOptions {
  /** Paths of YAML files; a later file replaces models with the same id. */
  files: string[];
  makers: Readonly<Record<string, Adapter>>;
  /** Reads a credential by the name of its variable. */
  secret(name: string): string | undefined;
  /** Why a credential that an operator has set cannot be read; null: it can, or there is none. */
  locked?(name: string): string | null;
}

/** @throws CatalogError that names the file and the error in it. */
export function loadCatalog({ files, makers, ...credentials }: CatalogOptions): Catalog {
  const models = new Map<string, CatalogModel>();
  for (const file of files) for (const model of readCatalogFile(file)) models.set(model.id, model);
  for (const model of models.values())
    for (const { adapter } of model.upstreams)
      if (!makers[adapter])
        throw new CatalogError(
          `${model.id}: no adapter is called ${adapter}; there are ${Object.keys(makers).join(', ')}`,
        );
  return new Catalog(models, makers, credentials);
}

function readCatalogFile(file: string): CatalogModel[] {
  let json: unknown;
  try {
    json = load(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw new CatalogError(`${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
  const parsed = catalogFile.safeParse(json);
  if (parsed.success) return parsed.data.models;
  const lines = parsed.error.issues.map((issue) => `  ${issue.path.join('.')}: ${issue.message}`);
  throw new CatalogError(`${file} is not a valid catalog:\n${lines.join('\n')}`);
}

/** A model that a server reported. */
interface Discovered {
  model: CatalogModel;
  /** The server. */
  source: string;
  /** Why the server no longer offers the model; null while it does. */
  gone: string | null;
}

/** Maximum number of remembered discovered models, including unavailable ones. */
const DISCOVERED_MAX = 2_000;

export class Catalog {
  /** Models of the catalog files, which take precedence over discovered models. */
  readonly #models: ReadonlyMap<string, CatalogModel>;
  readonly #discovered = new Map<string, Discovered>();
  readonly #makers: Readonly<Record<string, Adapter>>;
  readonly #credentials: Pick<CatalogOptions, 'secret' | 'locked'>;

  constructor(
    models: ReadonlyMap<string, CatalogModel>,
    makers: Readonly<Record<string, Adapter>>,
    credentials: Pick<CatalogOptions, 'secret' | 'locked'>,
  ) {
    this.#models = models;
    this.#makers = makers;
    this.#credentials = credentials;
  }

  get size(): number {
    return this.#all().length;
  }

  find(id: string): CatalogModel | undefined {
    return this.#models.get(id);
  }

  /**
   * The models of a call, in order, at its caller's prices, which every price of the call is computed from.
   * @param markup percentage on top of the price list
   * @throws ServiceError `model_not_found`; `wrong_endpoint` for a model of another type, with the right endpoint.
   */
  resolve(names: readonly string[], type: ModelType, markup?: string): CatalogModel[] {
    return names.map((name, index) => {
      const param = index === 0 ? 'model' : 'models';
      const model = this.#models.get(name) ?? this.#discovered.get(name)?.model;
      if (!model) throw unknownModel(name, this.#all(), param);
      if (model.type === type) return atMarkup(model, markup);
      const right = MODEL_TYPES[model.type].endpoint;
      const message = `${name} is ${article(model.type)} ${model.type} model. Use ${right}.`;
      throw new ServiceError('wrong_endpoint', message, { param, details: { endpoint: right } });
    });
  }

  /**
   * Updates the models of a server. Models that the server no longer has stay listed as unavailable with the reason.
   * Models from a file or from another server are unchanged.
   */
  discovered(source: string, models: readonly CatalogModel[], whyGone: string): void {
    for (const entry of this.#discovered.values()) if (entry.source === source) entry.gone = whyGone;
    for (const model of models) {
      const before = this.#discovered.get(model.id);
      const theirs = before !== undefined && before.source !== source && before.gone === null;
      if (!theirs && !this.#models.has(model.id))
        this.#discovered.set(model.id, { model, source, gone: null });
    }
    if (this.#discovered.size > DISCOVERED_MAX)
      for (const [id, { gone }] of this.#discovered) if (gone !== null) this.#discovered.delete(id);
  }

  #all(): CatalogModel[] {
    return [...this.#models.values(), ...[...this.#discovered.values()].map(({ model }) => model)];
  }

  /** Why no upstream of the model can be called; null when one can. */
  unavailable(model: CatalogModel): string | null {
    const gone = this.#gone(model);
    if (gone !== null) return gone;
    let reason = '';
    for (const upstream of model.upstreams) {
      const why = this.#upstreamUnavailable(model, upstream);
      if (why === null) return null;
      reason ||= why;
    }
    return reason;
  }

  usableUpstreams(model: CatalogModel): CatalogModel['upstreams'] {
    if (this.#gone(model) !== null) return [];
    return model.upstreams.filter((upstream) => this.#upstreamUnavailable(model, upstream) === null);
  }

  #gone({ id }: CatalogModel): string | null {
    return this.#models.has(id) ? null : (this.#discovered.get(id)?.gone ?? null);
  }

  /** The variables that the catalog files name for credentials. */
  variables(): string[] {
    const upstreams = [...this.#models.values()].flatMap((model) => model.upstreams);
    return upstreams.flatMap(
      (upstream) => variableOf(upstream, this.#makers[upstream.adapter] as Adapter) ?? [],
    );
  }

  /** @param markup percentage on top of the price list */
  list(created: number, markup?: string): ModelObject[] {
    return this.#all().map((listed) => {
      const model = atMarkup(listed, markup);
      const reason = this.unavailable(model);
      return {
        id: model.id,
        object: 'model',
        created,
        owned_by: makerOf(model),
        name: model.name,
        description: model.description,
        type: model.type,
        endpoint: MODEL_TYPES[model.type].endpoint,
        modalities: model.modalities,
        context_length: model.context_length ?? null,
        pricing: model.pricing,
        limits: model.limits,
        supported_parameters: model.supported_parameters,
        available: reason === null,
        unavailable_reason: reason,
      };
    });
  }

  #upstreamUnavailable(model: CatalogModel, upstream: CatalogModel['upstreams'][number]): string | null {
    const adapter = this.#makers[upstream.adapter] as Adapter; // the load checked every adapter
    if (!adapter.types.includes(model.type))
      return `the adapter ${upstream.adapter} does not serve ${model.type} models yet`;
    const variable = variableOf(upstream, adapter);
    if (variable === undefined || this.#credentials.secret(variable)) return null;
    return this.#credentials.locked?.(variable) ?? `set ${variable} to use this model`;
  }
}

/** The variable of the upstream's credential; undefined: it needs none. */
function variableOf(upstream: CatalogModel['upstreams'][number], adapter: Adapter): string | undefined {
  return upstream.api_key_env ?? adapter.apiKeyEnv;
}

export function makerOf(model: CatalogModel): string {
  return model.id.slice(0, model.id.indexOf('/'));
}

function atMarkup(model: CatalogModel, markup: string | undefined): CatalogModel {
  return markup === undefined ? model : { ...model, pricing: markUp(model.pricing, markup) };
}

function article(type: string): 'a' | 'an' {
  return /^[aeiou]/.test(type) ? 'an' : 'a';
}
