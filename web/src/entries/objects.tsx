import { ObjectsPage } from "../page/ObjectsPage.tsx";
import { start } from "../page/start.tsx";

void start(ObjectsPage);
