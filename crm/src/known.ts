import { folded } from './fields.ts';

/**
 * Exports of other products, recognized by their header row. Names are folded. `signs`: the header has all names of one of
 * these, joined by +. A field: the names of its columns, with * for any letters; `name` is a first name where there is no other.
 */
type Product = Record<string, string>;

/** Kommo writes whose column it is behind the name, Pipedrive before it. */
const each = (affixes: string, to: (affix: string) => string): string => affixes.split(' ').map(to).join(' ');
const ofContact = (names: string) =>
  each(names, (name) => each('contacto contato contact', (of) => name + of));
const ofPerson = (names: string) =>
  each(names, (name) => `${name} ${each('person persona pessoa', (of) => of + name)}`);
const places = (names: string) =>
  each(
    names,
    (name) =>
      `${name} ${each('work home other trabajo casa otro trabalho residencial outros', (at) => name + at)}`,
  );

const PRODUCTS: Record<string, Product> = {
  'Google Contacts': {
    signs: 'phone1value email1value phoneticfirstname+fileas yominame+familyname',
    firstName: 'firstname givenname middlename additionalname',
    lastName: 'lastname familyname',
    name: 'name organizationname organization1name',
    'contacts.telefono': 'phone*value',
    'contacts.email': 'email*value',
    tags: 'labels groupmembership',
    summary: 'notes',
    city: 'address*city',
    country: 'address*country',
  },
  'HubSpot contacts': {
    signs:
      'recordid+firstname recordid+email firstname+contactowner firstname+lifecyclestage iddelregistro+nombre idderegistro+nombre nombre+propietariodelcontacto nombre+etapadelciclodevida iddoregistro+nome nome+proprietariodocontato nome+fasedociclodevida',
    firstName: 'firstname nombre nome',
    lastName: 'lastname apellido apellidos sobrenome',
    'contacts.whatsapp':
      'whatsappphonenumber mobilephonenumber numerodewhatsapp numerodetelefonomovil numerodetelefonodewhatsapp numerodecelular numerodetelefonecelular numerodetelefonedowhatsapp',
    'contacts.telefono': 'phonenumber phone numerodetelefono numerodetelefone telefono telefone',
    'contacts.email':
      'email workemail correo correoelectronico additionalemailaddresses *correo*adicionales *email*adicionais',
    city: 'city ciudad cidade',
    country: 'countryregion country paisregion paisoregion paisouregiao pais',
    preferredLanguage: 'preferredlanguage idiomapreferido idiomadepreferencia idiomapreferencial',
  },
  Kommo: {
    signs:
      'contactoprincipal+estatusdellead contactoprincipal+etiquetasdellead contatoprincipal+leadtags contatoprincipal+etapadolead maincontact+leadstatus maincontact+leadtags',
    firstName: 'contactoprincipal contatoprincipal maincontact',
    name: 'compania company',
    'contacts.whatsapp': ofContact('telefonocelular celular mobilephone mobphone cellphone'),
    'contacts.telefono': ofContact(
      'telefonooficina telefonooficinadirecto telefonodecasa otrotelefono telefonecomercial teldiretocom telefoneresidencial outrotelefone workphone workdirectphone homephone otherphone',
    ),
    'contacts.email': ofContact(
      'correo emailpriv otroemail email emailcomercial emailpessoal outroemail workemail privemail privateemail personalemail otheremail',
    ),
    tags: 'etiquetasdellead leadtags etiquetasdolead tagsdolead',
    summary: 'nota* note*',
  },
  'Pipedrive people': {
    signs:
      'personname personfirstname personanombre pessoanome name+emailwork+phonework nombre+correoelectronicotrabajo nome+emailtrabalho',
    firstName: ofPerson('firstname primernombre primeironome'),
    lastName: ofPerson('lastname apellido apellidos sobrenome'),
    name: ofPerson('name nombre nome'),
    'contacts.whatsapp': ofPerson('phonemobile telefonomovil telefonocelular telefonecelular whatsapp'),
    'contacts.telefono': ofPerson(places('phone telefono telefone')),
    'contacts.email': ofPerson(places('email correoelectronico')),
    tags: ofPerson('label labels etiqueta etiquetas'),
    summary: ofPerson('notes notas'),
    city: 'person*cityof* personcitytown*',
    country: 'personcountryof*',
  },
  Outlook: {
    signs:
      'emailaddress+email2address firstname+emailaddress+mobilephone firstname+emailaddress+businessphone nombre+direcciondecorreoelectronico nombre+apellidos+emailaddress nome+enderecodeemail primeironome+enderecodeemail',
    firstName: 'firstname middlename nombre segundonombre nome primeironome segundonome',
    lastName: 'lastname apellidos sobrenome ultimonome',
    'contacts.whatsapp': 'mobilephone movil telefonomovil telefonecelular telemovel',
    'contacts.telefono':
      'homephone* businessphone* otherphone primaryphone carphone particular* telefonodeltrabajo* telefonoprincipal telefonoparticular* otrotelefono telefonecomercial* telefoneresidencial* telefoneprincipal outrotelefone',
    'contacts.email':
      'emailaddress email2address email3address direcciondecorreoelectronico* direcciondelcorreoelectronico* enderecodeemail*',
    tags: 'categories categorias',
    summary: 'notes notas anotacoes',
    city: 'homecity businesscity othercity ciudaddel* ciudaddetrabajo cidadecomercial cidaderesidencial',
    country: 'homecountry* businesscountry* othercountry* paisoregiondel*',
  },
  'a WhatsApp gateway': {
    signs: 'nome+numero nombre+numero name+number pushname savedname+publicname jid remotejid waid',
    firstName: 'nome nombre name savedname contactname fullname displayname',
    name: 'pushname publicname notify verifiedname',
    'contacts.whatsapp':
      'numero number phone phonenumber telefone telefono whatsapp jid remotejid waid celular mobile',
    'contacts.email': 'email correo',
    tags: 'etiqueta etiquetas tag tags label labels',
    city: 'cidade ciudad city',
    summary: 'observacoes observaciones notas nota notes',
  },
};

/** Numbers and addresses that are not the person's. */
const OF_OTHERS =
  /fax|owner|propietario|proprietario|responsab|responsav|assistant|asistente|assistente|manager|pager|telex|callback|isdn|radio|tty|companymainphone|centralita|recordid|^id$/;

/** `fieldOf` returns an empty text for a column that is left out on purpose. */
export type Known = { name: string; fieldOf: (header: string) => string | undefined };

/** The product that wrote the file, if its header row is one of those above. */
export function recognize(header: readonly string[]): Known | undefined {
  const names = new Set(header.map(folded));
  for (const [name, { signs = '', ...fields }] of Object.entries(PRODUCTS)) {
    if (!signs.split(' ').some((sign) => sign.split('+').every((part) => names.has(part)))) continue;
    const patterns = Object.entries(fields).map(
      ([field, columns]) =>
        [field, RegExp(`^(?:${columns.replaceAll('*', '.*').replaceAll(' ', '|')})$`)] as const,
    );
    const fieldOf = (column: string) =>
      patterns.find(([, pattern]) => pattern.test(folded(column)))?.[0] ??
      (OF_OTHERS.test(folded(column)) ? '' : undefined);
    return { name, fieldOf };
  }
  return undefined;
}
