// What docker-compose.yml is built on, made where no image registry is reached.
export { BASES, type BaseRecipe } from './base-recipes.ts';
export { type Bases, ensureBases } from './ensure-bases.ts';
